package io.omnigraph.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Plain values as JSON, to be read by Python. */
final class Json {
  private Json() {}

  static String of(Object value) {
    if (value == null || value instanceof Number || value instanceof Boolean) {
      return String.valueOf(value);
    } else if (value instanceof List<?> list) {
      List<String> items = new ArrayList<>();
      list.forEach(item -> items.add(of(item)));
      return "[" + String.join(",", items) + "]";
    } else if (value instanceof Map<?, ?> map) {
      List<String> items = new ArrayList<>();
      map.forEach((name, item) -> items.add(quoted(name.toString()) + ":" + of(item)));
      return "{" + String.join(",", items) + "}";
    }
    return quoted(value.toString());
  }

  private static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ' || Character.isSurrogate(c)) {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }
}
