package io.omnigraph.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Avg;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.connector.expressions.aggregate.Sum;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Aggregates that tasks compute of what they read, for Spark to put together.
 *
 * @param columns what a task yields: groups, then partial results
 * @param json the same for Python
 */
record Aggregates(StructType columns, String json) {
  /** The metadata of a column whose aggregates and groups Python computes as Spark does. */
  private static final String AGGREGABLE = "aggregable";

  /** Returns what is asked for; null when some of it is left to Spark. */
  static Aggregates taken(Aggregation asked, StructType schema, String narrowest) {
    StructType columns = new StructType();
    List<Object> by = new ArrayList<>();
    for (Expression group : asked.groupByExpressions()) {
      String name = Conditions.column(group, schema, AGGREGABLE);
      if (name == null) {
        return null;
      }
      by.add(name);
      columns = columns.add(name, schema.apply(name).dataType());
    }
    List<Object> of = new ArrayList<>();
    for (AggregateFunc one : asked.aggregateExpressions()) {
      if (one instanceof CountStar) {
        of.add(List.of("COUNT_ROWS", narrowest));
        columns = columns.add("count(*)", DataTypes.LongType);
        continue;
      }
      String word = word(one);
      String fact = "COUNT".equals(word) ? Conditions.COMPARABLE : AGGREGABLE;
      String name = word == null ? null : Conditions.column(one.children()[0], schema, fact);
      DataType type = name == null ? null : type(word, schema.apply(name).dataType());
      if (type == null) {
        return null;
      }
      of.add(List.of(word, name));
      columns = columns.add(word.toLowerCase(java.util.Locale.ROOT) + "(" + name + ")", type);
    }
    return new Aggregates(columns, Json.of(Map.of("by", by, "of", of)));
  }

  /** Returns whether the average of longs is asked for. */
  static boolean hasWideAverage(Aggregation asked, StructType schema) {
    return Arrays.stream(asked.aggregateExpressions())
        .filter(one -> one instanceof Avg)
        .map(one -> Conditions.column(one.children()[0], schema, AGGREGABLE))
        .anyMatch(name -> name != null && schema.apply(name).dataType().equals(DataTypes.LongType));
  }

  private static String word(AggregateFunc one) {
    if (one instanceof Sum sum) {
      return sum.isDistinct() ? null : "SUM";
    } else if (one instanceof Count count) {
      return count.isDistinct() ? null : "COUNT";
    } else if (one instanceof Min) {
      return "MIN";
    }
    return one instanceof Max ? "MAX" : null;
  }

  /** Returns the type of a result; null when Spark computes it otherwise. */
  private static DataType type(String word, DataType column) {
    return switch (word) {
      case "COUNT" -> DataTypes.LongType;
      case "SUM" -> column.equals(DataTypes.IntegerType) || column.equals(DataTypes.LongType)
          ? DataTypes.LongType
          : null;
      default -> column;
    };
  }
}
