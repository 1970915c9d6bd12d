package io.omnigraph.spark;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A type of a graph, or facts about the graph, at one commit: for reading only. */
class GraphTable implements SupportsRead, SupportsMetadataColumns {
  /** The metadata of a column that is read by its name only, and never written: the id. */
  private static final String HIDDEN = "hidden";

  /** A fact about a table whose rows change although its commit does not. */
  private static final String LIVE = "live";

  private static final String[] READ_OPTIONS = {"rows_per_task"};

  protected final StructType whole;
  protected final StructType schema;
  protected final Metadata facts;
  protected final Map<String, String> place;
  private final PlannedScans scans;
  private final String name;

  GraphTable(PlannedScans scans, String name, StructField answer, Map<String, String> options) {
    this.scans = scans;
    this.name = name;
    facts = answer.metadata();
    whole = (StructType) answer.dataType();
    schema =
        new StructType(
            Arrays.stream(whole.fields())
                .filter(field -> !field.metadata().contains(HIDDEN))
                .toArray(StructField[]::new));
    place = PythonSource.with(options, "table", facts.getString("table"), "commit", facts.getString("commit"));
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Column[] columns() {
    return Arrays.stream(schema.fields())
        .map(field -> Column.create(field.name(), field.dataType(), field.nullable()))
        .toArray(Column[]::new);
  }

  @Override
  public Map<String, String> properties() {
    Map<String, String> found = new HashMap<>();
    for (String fact : new String[] {"table", "commit", "version", "key", "from", "to"}) {
      if (facts.contains(fact)) {
        found.put(fact, facts.getString(fact));
      }
    }
    return found;
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    return Arrays.stream(whole.fields())
        .filter(field -> field.metadata().contains(HIDDEN))
        .map(Hidden::new)
        .toArray(MetadataColumn[]::new);
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ);
  }

  /** Whatever is written later, a frame stays at the commit that it was made on. */
  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    Map<String, String> all = new HashMap<>(place);
    for (String known : READ_OPTIONS) {
      if (options.containsKey(known)) {
        all.put(known, options.get(known));
      }
    }
    return new GraphScanBuilder(scans, facts.contains(LIVE), name, whole, schema, facts.getLong("rows"), all);
  }

  private record Hidden(StructField field) implements MetadataColumn {
    @Override
    public String name() {
      return field.name();
    }

    @Override
    public DataType dataType() {
      return field.dataType();
    }

    @Override
    public boolean isNullable() {
      return false;
    }

    @Override
    public String comment() {
      return "the id of the row; read by name, never written";
    }
  }
}
