package io.omnigraph.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Takes the columns, filters and aggregates of one scan, and finds or makes the data source in Python for it. */
final class GraphScanBuilder 
    implements SupportsPushDownRequiredColumns, SupportsPushDownV2Filters, SupportsPushDownAggregates {
  private static final String ROWS_PER_TASK = "rows_per_task";

  /** The metadata of a column whose values have a size that its type does not say. */
  private static final String BYTES = "bytes";

  private static final long LEAST_ROWS_PER_TASK = 1 << 18;
  private static final long MOST_BYTES_PER_TASK = 128L << 20;

  private final PlannedScans scans;
  private final boolean isLive;
  private final String name;
  private final StructType whole;
  private final StructType shown;
  private final long rows;
  private final Map<String, String> options;
  private StructType wanted;
  private List<Predicate> taken = List.of();
  private Aggregates aggregates;
  private boolean hasWideAverage;

  GraphScanBuilder(
      PlannedScans scans,
      boolean isLive,
      String name,
      StructType whole,
      StructType shown,
      long rows,
      Map<String, String> options) {
    this.scans = scans;
    this.isLive = isLive;
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
        Arrays.stream(shown.fields()).min(Comparator.comparingLong(field -> bytes(field.name(), field.dataType()))).get();
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

  /**
   * Spark asks this first with averages as they are, and then again with sums in their place: the sum of longs may
   * overflow where their average, which is computed in doubles, does not.
   */
  @Override
  public boolean supportCompletePushDown(Aggregation asked) {
    hasWideAverage |= Aggregates.hasWideAverage(asked, whole);
    return false;
  }

  /** Spark asks when it has left all conditions to storage, and puts the results of the tasks together. */
  @Override
  public boolean pushAggregation(Aggregation asked) {
    aggregates = isLive || hasWideAverage ? null : Aggregates.taken(asked, whole, narrowest().fieldNames()[0]);
    return aggregates != null;
  }

  @Override
  public Scan build() {
    StructType columns = aggregates != null ? aggregates.columns() : wanted.isEmpty() ? narrowest() : wanted;
    String where = taken.isEmpty() ? null : Conditions.json(taken, whole);
    String asked = aggregates == null ? null : aggregates.json();
    Map<String, String> all = PythonSource.with(options, "where", where, "aggregates", asked);
    all.putIfAbsent(ROWS_PER_TASK, Long.toString(rowsPerTask(columns)));
    String said = name + "@" + options.get("commit") + " [" + String.join(", ", columns.fieldNames()) + "]";
    PlannedScans.Planned planned = scans.get(all, columns, isLive);
    return new GraphScan(planned, taken.isEmpty() ? said : said + " where " + taken, rows, bytes(columns));
  }

  /** As many tasks as there are cores, unless they would be small or large: each costs some milliseconds. */
  private long rowsPerTask(StructType columns) {
    long most = Math.max(LEAST_ROWS_PER_TASK, MOST_BYTES_PER_TASK / bytes(columns));
    long share = rows / PythonSource.parallelism() + 1;
    return Math.min(most, Math.max(LEAST_ROWS_PER_TASK, share));
  }

  /** Returns how many bytes a row has, roughly. */
  private long bytes(StructType columns) {
    return Arrays.stream(columns.fields()).mapToLong(field -> bytes(field.name(), field.dataType())).sum();
  }

  /** Spark takes every array for one of a single member; Python says how many a vector has. */
  private long bytes(String column, DataType type) {
    StructField known = whole.getFieldIndex(column).isEmpty() ? null : whole.apply(column);
    return known != null && known.metadata().contains(BYTES) ? known.metadata().getLong(BYTES) : type.defaultSize();
  }
}
