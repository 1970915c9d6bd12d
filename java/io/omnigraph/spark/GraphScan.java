package io.omnigraph.spark;

import java.util.Map;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.types.StructType;

/**
 * One scan of one commit, which tells the planner how many rows it has at most.
 *
 * @param scan Spark's scan of the data source in Python
 * @param key the options of that source: scans with the same ones read the same
 */
record GraphScan(Scan scan, StructType schema, String shown, Map<String, String> key, long rows)
    implements SupportsReportStatistics {
  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public String description() {
    return shown;
  }

  @Override
  public Batch toBatch() {
    return new GraphBatch(key, schema, scan.toBatch());
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return scan.columnarSupportMode();
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return scan.supportedCustomMetrics();
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return scan.reportDriverMetrics();
  }

  @Override
  public Statistics estimateStatistics() {
    return new Statistics() {
      @Override
      public OptionalLong sizeInBytes() {
        return OptionalLong.of(Math.max(1, rows * schema.defaultSize()));
      }

      @Override
      public OptionalLong numRows() {
        return OptionalLong.of(rows);
      }
    };
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof GraphScan scan && key.equals(scan.key) && schema.equals(scan.schema);
  }

  @Override
  public int hashCode() {
    return key.hashCode() * 31 + schema.hashCode();
  }

  /** Equal when it reads the same, so that Spark reads once what a plan names twice. */
  private record GraphBatch(Map<String, String> key, StructType schema, Batch batch) implements Batch {
    @Override
    public InputPartition[] planInputPartitions() {
      return batch.planInputPartitions();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return batch.createReaderFactory();
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof GraphBatch batch && key.equals(batch.key) && schema.equals(batch.schema);
    }

    @Override
    public int hashCode() {
      return key.hashCode() * 31 + schema.hashCode();
    }
  }
}
