package io.omnigraph.spark;

import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A type at the head of a branch: it is read at one commit, and what is written becomes a new one. */
final class WritableTable extends GraphTable
    implements SupportsWrite, SupportsDeleteV2, SupportsRowLevelOperations {
  private static final String[] WRITE_OPTIONS = {
    "mode", "idempotency_key", "message", "metadata", "on_error", "rejected_to"
  };

  private final Map<String, String> options;

  WritableTable(PlannedScans scans, String name, StructField answer, Map<String, String> options) {
    super(scans, name, answer, options);
    this.options =
        PythonSource.with(options, "table", facts.getString("table"), "branch", facts.getString("branch"));
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.TRUNCATE);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return write(info.queryId(), info.schema(), with(info.options(), "write", "rows"));
  }

  @Override
  public boolean canDeleteWhere(Predicate[] predicates) {
    return Conditions.taken(predicates, whole).size() == predicates.length;
  }

  /** Storage finds the rows, at the head at that moment: no job, and no rows through Spark. */
  @Override
  public void deleteWhere(Predicate[] predicates) {
    PythonSource.ask(options, "delete", "where", Conditions.json(List.of(predicates), whole));
  }

  @Override
  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    return () -> new RowChanges(this, info);
  }

  /** Takes rows with what is to become of them; the commit that they were read at goes along. */
  BatchWrite changes(StructType rows, String query, RowLevelOperationInfo info) {
    Map<String, String> all =
        PythonSource.with(
            with(info.options(), "write", "changes"),
            "read_commit",
            facts.getString("commit"),
            "command",
            info.command().name());
    return write(query, rows, all).build().toBatch();
  }

  private Map<String, String> with(CaseInsensitiveStringMap given, String... more) {
    Map<String, String> all = PythonSource.with(options, more);
    for (String known : WRITE_OPTIONS) {
      if (given.containsKey(known)) {
        all.put(known, given.get(known));
      }
    }
    return all;
  }

  private static WriteBuilder write(String query, StructType rows, Map<String, String> all) {
    LogicalWriteInfo told = new Told(query, rows, new CaseInsensitiveStringMap(all));
    return ((SupportsWrite) PythonSource.table(rows, all)).newWriteBuilder(told);
  }

  private record Told(String queryId, StructType schema, CaseInsensitiveStringMap options)
      implements LogicalWriteInfo {
    @Override
    public Optional<StructType> rowIdSchema() {
      return Optional.empty();
    }

    @Override
    public Optional<StructType> metadataSchema() {
      return Optional.empty();
    }
  }
}
