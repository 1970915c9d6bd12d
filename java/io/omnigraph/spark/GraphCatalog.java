package io.omnigraph.spark;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.catalog.constraints.PrimaryKey;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A graph as a catalog of Spark: namespaces are branches and tags, tables are node and edge types. */
public final class GraphCatalog implements TableCatalog, SupportsNamespaces, ProcedureCatalog {
  private final QueryCommits commits = new QueryCommits();
  private final PlannedScans scans = new PlannedScans();
  private String name;
  private Map<String, String> options = Map.of();

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.options = new HashMap<>(options.asCaseSensitiveMap());
  }

  @Override
  public String name() {
    return name;
  }

  /** PRIMARY KEY is the key of a type. */
  @Override
  public Set<TableCatalogCapability> capabilities() {
    return EnumSet.of(TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT);
  }

  @Override
  public String[] defaultNamespace() {
    return new String[] {"main"};
  }

  @Override
  public String[][] listNamespaces() {
    return names(PythonSource.ask(options, "namespaces"))
        .map(one -> new String[] {one})
        .toArray(String[][]::new);
  }

  @Override
  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length == 0) {
      return listNamespaces();
    }
    StructField answer = PythonSource.ask(options, "namespaces", "namespace", said(namespace));
    check(answer, namespace);
    return names(answer).map(one -> new String[] {namespace[0], one}).toArray(String[][]::new);
  }

  @Override
  public boolean namespaceExists(String[] namespace) {
    return isKnown(PythonSource.ask(options, "namespace", "namespace", said(namespace)));
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
    StructField answer = PythonSource.ask(options, "namespace", "namespace", said(namespace));
    check(answer, namespace);
    return Map.of(SupportsNamespaces.PROP_COMMENT, answer.metadata().getString("comment"));
  }

  @Override
  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length == 0) {
      return listTables(defaultNamespace());
    }
    StructField answer = PythonSource.ask(options, "tables", "namespace", said(namespace));
    check(answer, namespace);
    return names(answer).map(table -> Identifier.of(namespace, table)).toArray(Identifier[]::new);
  }

  @Override
  public Table loadTable(Identifier ident) throws NoSuchTableException {
    String namespace = said(ident.namespace());
    return loadTable(ident, namespace, commits.get(namespace));
  }

  private Table loadTable(Identifier ident, String namespace, String commit) throws NoSuchTableException {
    StructField answer = load(ident, "commit", commit);
    if (namespace != null) {
      commits.put(namespace, answer.metadata().getString("commit"));
    }
    return answer.metadata().contains("branch")
        ? new WritableTable(scans, shown(ident), answer, options)
        : new GraphTable(scans, shown(ident), answer, options);
  }

  /** VERSION AS OF a number, a tag, a commit's id or what else stands for one. */
  @Override
  public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
    return new GraphTable(scans, shown(ident), load(ident, "version", version), options);
  }

  /** TIMESTAMP AS OF. */
  @Override
  public Table loadTable(Identifier ident, long micros) throws NoSuchTableException {
    return new GraphTable(scans, shown(ident), load(ident, "at", Long.toString(micros)), options);
  }

  private StructField load(Identifier ident, String... when) throws NoSuchTableException {
    Map<String, String> place = PythonSource.with(options, "namespace", said(ident.namespace()), "table", ident.name());
    StructField answer = PythonSource.ask(PythonSource.with(place, when), "table");
    if (!isKnown(answer)) {
      throw new NoSuchTableException(ident);
    }
    return answer;
  }

  /** CREATE TABLE and saveAsTable: a new type, in a commit of its own. */
  @Override
  public Table createTable(Identifier ident, TableInfo info)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    if (info.partitions().length > 0) {
      throw refused("PARTITIONED BY");
    }
    Map<String, Object> told = new HashMap<>(info.properties());
    for (Constraint constraint : info.constraints()) {
      if (!(constraint instanceof PrimaryKey key)) {
        throw refused("A constraint other than PRIMARY KEY");
      }
      told.put("primary_key", Arrays.stream(key.columns()).map(one -> one.fieldNames()[0]).toList());
    }
    StructField answer =
        PythonSource.ask(
            options,
            "create_table",
            "namespace",
            said(ident.namespace()),
            "table",
            ident.name(),
            "columns",
            CatalogV2Util.v2ColumnsToStructType(info.columns()).json(),
            "properties",
            Json.of(told));
    check(answer, ident.namespace());
    if (answer.metadata().contains("exists")) {
      throw new TableAlreadyExistsException(ident);
    }
    try {
      return loadTable(ident, (String) null, null);
    } catch (NoSuchTableException gone) {
      throw new IllegalStateException(gone);
    }
  }

  /** ALTER TABLE ADD COLUMNS: properties that may be NULL, in a commit of their own. */
  @Override
  public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
    StructType added = new StructType();
    for (TableChange change : changes) {
      if (!(change instanceof TableChange.AddColumn add) || add.fieldNames().length != 1) {
        throw refused("ALTER TABLE, but for ADD COLUMNS,");
      }
      if (!add.isNullable() || add.defaultValue() != null) {
        throw refused("A new column that is NOT NULL or has a DEFAULT");
      }
      added = added.add(add.fieldNames()[0], add.dataType(), true);
    }
    StructField answer =
        PythonSource.ask(
            options,
            "add_columns",
            "namespace",
            said(ident.namespace()),
            "table",
            ident.name(),
            "columns",
            added.json());
    if (!isKnown(answer)) {
      throw new NoSuchTableException(ident);
    }
    return loadTable(ident, (String) null, null);
  }

  /** DROP TABLE: the type leaves the schema; older versions still have it. */
  @Override
  public boolean dropTable(Identifier ident) {
    return isKnown(
        PythonSource.ask(options, "drop_table", "namespace", said(ident.namespace()), "table", ident.name()));
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    throw refused("ALTER TABLE RENAME");
  }

  /** CREATE NAMESPACE: a branch, forked from main or what the property `from` names. */
  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata)
      throws NamespaceAlreadyExistsException {
    StructField answer =
        PythonSource.ask(options, "create_branch", "namespace", said(namespace), "properties", Json.of(metadata));
    if (answer.metadata().contains("exists")) {
      throw new NamespaceAlreadyExistsException(namespace);
    }
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) {
    throw refused("ALTER NAMESPACE");
  }

  /** DROP NAMESPACE: the branch, with CASCADE since it has tables. */
  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade) throws NonEmptyNamespaceException {
    if (!cascade && namespaceExists(namespace)) {
      throw new NonEmptyNamespaceException(namespace);
    }
    return isKnown(PythonSource.ask(options, "drop_branch", "namespace", said(namespace)));
  }

  @Override
  public UnboundProcedure loadProcedure(Identifier ident) {
    StructField answer = PythonSource.ask(options, "procedure", "procedure", ident.name());
    if (!Arrays.equals(ident.namespace(), new String[] {"system"}) || !isKnown(answer)) {
      throw new GraphException("there is no procedure " + shown(ident) + ": see SHOW PROCEDURES IN " + name, "");
    }
    return new GraphProcedure(ident.name(), (StructType) answer.dataType(), options);
  }

  @Override
  public Identifier[] listProcedures(String[] namespace) {
    return names(PythonSource.ask(options, "procedures"))
        .map(one -> Identifier.of(new String[] {"system"}, one))
        .toArray(Identifier[]::new);
  }

  private String shown(Identifier ident) {
    return name + "." + String.join(".", ident.namespace()) + "." + ident.name();
  }

  private static String said(String[] namespace) {
    return Json.of(Arrays.asList(namespace));
  }

  private static boolean isKnown(StructField answer) {
    return !answer.metadata().contains("missing");
  }

  private static void check(StructField answer, String[] namespace) throws NoSuchNamespaceException {
    if (!isKnown(answer)) {
      throw new NoSuchNamespaceException(namespace);
    }
  }

  private static Stream<String> names(StructField answer) {
    return Arrays.stream(answer.metadata().getStringArray("names"));
  }

  private static UnsupportedOperationException refused(String what) {
    return new UnsupportedOperationException(what + " is not for graphs: change the schema with g.schema.apply");
  }
}
