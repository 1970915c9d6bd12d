package io.omnigraph.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The data source in Python. All that Spark does not declare as an interface for connectors is used here. */
final class PythonSource {
  static final String FORMAT = "omnigraph_catalog";

  private PythonSource() {}

  /** A fresh one each time: it remembers the options that it was first asked with. */
  private static TableProvider provider() {
    return DataSource.lookupDataSourceV2(FORMAT, SQLConf.get()).get();
  }

  /** Asks the graph a question without a job: the answer comes as a schema, its facts as metadata. */
  static StructField ask(Map<String, String> options, String question, String... more) {
    Map<String, String> all = with(with(options, more), "ask", question);
    StructField answer = provider().inferSchema(new CaseInsensitiveStringMap(all)).fields()[0];
    Metadata facts = answer.metadata();
    if (facts.contains("error")) {
      throw new GraphException(facts.getString("error"), facts.getString("note"));
    }
    return answer;
  }

  static Table table(StructType schema, Map<String, String> options) {
    return provider().getTable(schema, new Transform[0], options);
  }

  /** Returns how many tasks the session runs at once. */
  static int parallelism() {
    return Math.max(1, SparkContext.getOrCreate().defaultParallelism());
  }

  static Map<String, String> with(Map<String, String> options, String... more) {
    Map<String, String> all = new HashMap<>(options);
    for (int at = 0; at < more.length; at += 2) {
      if (more[at + 1] != null) {
        all.put(more[at], more[at + 1]);
      }
    }
    return all;
  }
}
