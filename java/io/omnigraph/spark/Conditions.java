package io.omnigraph.spark;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Predicates of Spark as JSON for storage. Only what storage answers exactly as Spark does is taken: columns that
 * Python has marked, compared with values. Python knows what a value means that the column cannot hold.
 */
final class Conditions {
  /** The metadata of a column that may be compared by storage. */
  static final String COMPARABLE = "comparable";

  private static final Set<String> COMPARISONS = Set.of("=", "<>", "<", "<=", ">", ">=", "STARTS_WITH");

  private Conditions() {}

  /** Returns which predicates storage takes. */
  static List<Predicate> taken(Predicate[] predicates, StructType schema) {
    return Arrays.stream(predicates).filter(one -> said(one, schema) != null).toList();
  }

  static String json(List<Predicate> predicates, StructType schema) {
    return Json.of(predicates.stream().map(one -> said(one, schema)).toList());
  }

  /** Returns a predicate as lists of words and values; null when it is left to Spark. */
  private static List<Object> said(Expression predicate, StructType schema) {
    if (!(predicate instanceof Predicate one)) {
      return null;
    }
    Expression[] of = one.children();
    switch (one.name()) {
      case "AND", "OR", "NOT" -> {
        List<Object> said = new ArrayList<>(List.of(one.name()));
        for (Expression child : of) {
          List<Object> part = said(child, schema);
          if (part == null) {
            return null;
          }
          said.add(part);
        }
        return said;
      }
      case "ALWAYS_TRUE", "ALWAYS_FALSE" -> {
        return List.of(one.name());
      }
      case "IS_NULL", "IS_NOT_NULL" -> {
        String name = column(of[0], schema, COMPARABLE);
        return name == null ? null : List.of(one.name(), name);
      }
      case "IN" -> {
        List<Object> said = new ArrayList<>();
        for (Expression value : Arrays.copyOfRange(of, 1, of.length)) {
          said.add(value(value));
        }
        String name = column(of[0], schema, COMPARABLE);
        return name == null || said.contains(null) ? null : List.of(one.name(), name, said);
      }
      default -> {
        if (!COMPARISONS.contains(one.name()) || of.length != 2) {
          return null;
        }
        String name = column(of[0], schema, COMPARABLE);
        Object value = value(of[1]);
        return name == null || value == null ? null : List.of(one.name(), name, value);
      }
    }
  }

  /** Returns the name of a column that Python has marked with a fact; null for anything else. */
  static String column(Expression expression, StructType schema, String fact) {
    if (!(expression instanceof NamedReference named) || named.fieldNames().length != 1) {
      return null;
    }
    String name = named.fieldNames()[0];
    if (schema.getFieldIndex(name).isEmpty()) {
      return null;
    }
    StructField field = schema.apply(name);
    return field.metadata().contains(fact) ? name : null;
  }

  /** Returns a value as Spark keeps it: days, microseconds, numbers, texts; null when it cannot be said. */
  private static Object value(Expression expression) {
    if (!(expression instanceof Literal<?> literal) || literal.value() == null) {
      return null;
    }
    Object value = literal.value();
    if (value instanceof UTF8String text) {
      return text.isValid() ? text.toString() : null;
    } else if (value instanceof Decimal decimal) {
      return decimal.toJavaBigDecimal().toPlainString();
    } else if (value instanceof BigDecimal decimal) {
      return decimal.toPlainString();
    }
    return value instanceof Number || value instanceof Boolean ? value : null;
  }
}
