package io.omnigraph.spark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A procedure of `CALL og.system.…`: Python says which parameters it has, carries it out, and answers with one row.
 *
 * @param parameter a field for each parameter; one with the fact `optional` need not be given
 */
record GraphProcedure(String name, StructType parameter, Map<String, String> options)
    implements UnboundProcedure, BoundProcedure {
  @Override
  public BoundProcedure bind(StructType given) {
    return this;
  }

  @Override
  public ProcedureParameter[] parameters() {
    List<ProcedureParameter> found = new ArrayList<>();
    for (StructField field : parameter.fields()) {
      ProcedureParameter.Builder one = ProcedureParameter.in(field.name(), field.dataType());
      found.add(field.metadata().contains("optional") ? one.defaultValue("NULL").build() : one.build());
    }
    return found.toArray(new ProcedureParameter[0]);
  }

  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public String description() {
    return name;
  }

  @Override
  public Iterator<Scan> call(InternalRow given) {
    Map<String, Object> told = new LinkedHashMap<>();
    for (int at = 0; at < parameter.length(); at++) {
      if (!given.isNullAt(at)) {
        told.put(parameter.fields()[at].name(), given.get(at, parameter.fields()[at].dataType()));
      }
    }
    StructField answer = PythonSource.ask(options, "call", "procedure", name, "arguments", Json.of(told));
    return List.<Scan>of(new OneRow((StructType) answer.dataType())).iterator();
  }

  /** The values are facts of the columns. */
  private record OneRow(StructType readSchema) implements LocalScan {
    @Override
    public InternalRow[] rows() {
      Object[] row = new Object[readSchema.length()];
      for (int at = 0; at < row.length; at++) {
        StructField field = readSchema.fields()[at];
        row[at] = value(field.metadata(), field.dataType());
      }
      return new InternalRow[] {new GenericInternalRow(row)};
    }

    private static Object value(Metadata facts, DataType type) {
      if (!facts.contains("value")) {
        return null;
      } else if (type.equals(DataTypes.LongType)) {
        return facts.getLong("value");
      } else if (type.equals(DataTypes.BooleanType)) {
        return facts.getBoolean("value");
      }
      return UTF8String.fromString(facts.getString("value"));
    }
  }
}
