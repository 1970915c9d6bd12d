package io.omnigraph.spark;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/** Rows in the order in which they came: in memory, and behind some megabytes in a file. */
final class KeptRows implements Closeable {
  private static final long MOST_BYTES = 64L << 20;

  private final UnsafeProjection projection;
  private final int fields;
  private final List<InternalRow> rows = new ArrayList<>();
  private long bytes;
  private long spilled;
  private Path file;
  private DataOutputStream out;
  private DataInputStream in;

  KeptRows(StructType schema) {
    projection = UnsafeProjection.create(schema);
    fields = schema.length();
  }

  void add(InternalRow row) throws IOException {
    UnsafeRow made = projection.apply(row);
    if (out == null && bytes + made.getSizeInBytes() <= MOST_BYTES) {
      bytes += made.getSizeInBytes();
      rows.add(made.copy());
      return;
    }
    if (out == null) {
      file = Files.createTempFile("omnigraph-rows-", null);
      out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file), 1 << 20));
    }
    byte[] content = made.getBytes();
    out.writeInt(content.length);
    out.write(content);
    spilled++;
  }

  Iterator<InternalRow> iterator() throws IOException {
    if (out != null) {
      out.close();
      in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file), 1 << 20));
    }
    Iterator<InternalRow> first = rows.iterator();
    return new Iterator<>() {
      private long read;

      @Override
      public boolean hasNext() {
        return first.hasNext() || read < spilled;
      }

      @Override
      public InternalRow next() {
        if (first.hasNext()) {
          return first.next();
        }
        if (read++ >= spilled) {
          throw new NoSuchElementException();
        }
        try {
          byte[] content = new byte[in.readInt()];
          in.readFully(content);
          UnsafeRow row = new UnsafeRow(fields);
          row.pointTo(content, content.length);
          return row;
        } catch (IOException error) {
          throw new UncheckedIOException(error);
        }
      }
    };
  }

  @Override
  public void close() throws IOException {
    rows.clear();
    if (in != null) {
      in.close();
    }
    if (file != null) {
      out.close();
      Files.deleteIfExists(file);
    }
  }
}
