package io.omnigraph.spark;

import java.util.OptionalLong;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.types.StructType;

/** One scan of one commit, which tells the planner how many rows it has at most. */
record GraphScan(PlannedScans.Planned planned, String shown, long rows, long bytesPerRow)
    implements SupportsReportStatistics {
  @Override
  public StructType readSchema() {
    return planned.key().columns();
  }

  @Override
  public String description() {
    return shown;
  }

  @Override
  public Batch toBatch() {
    return new GraphBatch(planned.key(), planned.batch());
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return planned.scan().columnarSupportMode();
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return planned.scan().supportedCustomMetrics();
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return planned.scan().reportDriverMetrics();
  }

  @Override
  public Statistics estimateStatistics() {
    return new Statistics() {
      @Override
      public OptionalLong sizeInBytes() {
        return OptionalLong.of(Math.max(1, rows * bytesPerRow));
      }

      @Override
      public OptionalLong numRows() {
        return OptionalLong.of(rows);
      }
    };
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof GraphScan scan && planned.key().equals(scan.planned.key());
  }

  @Override
  public int hashCode() {
    return planned.key().hashCode();
  }

  /** Equal when it reads the same, so that Spark reads once what a plan names twice. */
  private record GraphBatch(PlannedScans.Planned.Key key, Batch batch) implements Batch {
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
      return other instanceof GraphBatch batch && key.equals(batch.key);
    }

    @Override
    public int hashCode() {
      return key.hashCode();
    }
  }
}
