package io.omnigraph.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Takes the columns and filters of one scan, and makes a data source in Python for this scan alone. */
final class GraphScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownV2Filters {
  private final String name;
  private final StructType whole;
  private final StructType shown;
  private final long rows;
  private final Map<String, String> options;
  private StructType wanted;
  private List<Predicate> taken = List.of();

  GraphScanBuilder(String name, StructType whole, StructType shown, long rows, Map<String, String> options) {
    this.name = name;
    this.whole = whole;
    this.shown = shown;
    this.wanted = shown;
    this.rows = rows;
    this.options = options;
  }

  @Override
  public void pruneColumns(StructType required) {
    wanted = required.isEmpty() ? narrowest() : required;
  }

  /** A batch without columns would have no rows: who only counts gets the column that costs least. */
  private StructType narrowest() {
    StructField least =
        Arrays.stream(shown.fields()).min(Comparator.comparingInt(field -> field.dataType().defaultSize())).get();
    return new StructType(new StructField[] {least});
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    taken = Conditions.taken(predicates, whole);
    List<Predicate> left = new ArrayList<>(Arrays.asList(predicates));
    left.removeAll(taken);
    return left.toArray(new Predicate[0]);
  }

  @Override
  public Predicate[] pushedPredicates() {
    return taken.toArray(new Predicate[0]);
  }

  @Override
  public Scan build() {
    StructType columns = wanted.isEmpty() ? narrowest() : wanted;
    String where = taken.isEmpty() ? null : Conditions.json(taken, whole);
    Map<String, String> all = PythonSource.with(options, "where", where);
    SupportsRead table = (SupportsRead) PythonSource.table(columns, all);
    Scan scan = table.newScanBuilder(new CaseInsensitiveStringMap(all)).build();
    String said = name + "@" + options.get("commit") + " [" + String.join(", ", columns.fieldNames()) + "]";
    return new GraphScan(scan, columns, taken.isEmpty() ? said : said + " where " + taken, all, rows);
  }
}
