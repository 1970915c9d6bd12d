package io.omnigraph.spark;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** MERGE INTO, UPDATE and DELETE: rows by id, each with what is to become of it, for the writer in Python. */
final class RowChanges implements SupportsDelta {
  private static final int DELETED = 0;
  private static final int UPDATED = 1;
  private static final int INSERTED = 2;
  private static final int FIRST_COLUMN = 2;

  private final WritableTable table;
  private final RowLevelOperationInfo info;

  RowChanges(WritableTable table, RowLevelOperationInfo info) {
    this.table = table;
    this.info = info;
  }

  @Override
  public Command command() {
    return info.command();
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return table.newScanBuilder(options);
  }

  @Override
  public NamedReference[] rowId() {
    return new NamedReference[] {Expressions.column("id")};
  }

  @Override
  public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo given) {
    StructType sent =
        new StructType().add("__op", DataTypes.IntegerType, false).add("__id", DataTypes.StringType, true);
    for (StructField field : given.schema().fields()) {
      sent = sent.add(field.name(), field.dataType(), true);
    }
    StructType rows = sent;
    return new DeltaWriteBuilder() {
      @Override
      public DeltaWrite build() {
        return new DeltaWrite() {
          @Override
          public DeltaBatchWrite toBatch() {
            return new Work(table.changes(rows, given.queryId(), info), rows);
          }
        };
      }
    };
  }

  private record Work(BatchWrite write, StructType sent) implements DeltaBatchWrite {
    @Override
    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      return new Factory(write.createBatchWriterFactory(info), sent);
    }

    @Override
    public boolean useCommitCoordinator() {
      return write.useCommitCoordinator();
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      write.commit(messages);
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
      write.abort(messages);
    }
  }

  private record Factory(DataWriterFactory factory, StructType sent) implements DeltaWriterFactory {
    @Override
    public DeltaWriter<InternalRow> createWriter(int partition, long task) {
      return new Writer(factory.createWriter(partition, task), sent);
    }
  }

  /** Keeps the rows until the end, on disk when they are many: the writer in Python takes an iterator of them. */
  private static final class Writer implements DeltaWriter<InternalRow> {
    private final DataWriter<InternalRow> writer;
    private final StructType sent;
    private final KeptRows rows;

    Writer(DataWriter<InternalRow> writer, StructType sent) {
      this.writer = writer;
      this.sent = sent;
      this.rows = new KeptRows(sent);
    }

    @Override
    public void delete(InternalRow metadata, InternalRow id) throws IOException {
      Object[] row = new Object[sent.length()];
      row[0] = DELETED;
      row[1] = id.getUTF8String(0);
      rows.add(new GenericInternalRow(row));
    }

    @Override
    public void update(InternalRow metadata, InternalRow id, InternalRow given) throws IOException {
      put(UPDATED, id.getUTF8String(0), given);
    }

    @Override
    public void insert(InternalRow given) throws IOException {
      put(INSERTED, null, given);
    }

    private void put(int operation, Object id, InternalRow given) throws IOException {
      Object[] row = new Object[sent.length()];
      row[0] = operation;
      row[1] = id;
      for (int at = FIRST_COLUMN; at < row.length; at++) {
        row[at] = given.get(at - FIRST_COLUMN, sent.fields()[at].dataType());
      }
      rows.add(new GenericInternalRow(row));
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
      writer.writeAll(rows.iterator());
      return writer.commit();
    }

    @Override
    public void abort() throws IOException {
      writer.abort();
    }

    @Override
    public void close() throws IOException {
      rows.close();
      writer.close();
    }
  }
}
