package io.omnigraph.spark;

import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;

/**
 * The commits that the queries being analysed read, so that all tables of a query are of one commit.
 *
 * <p>Spark asks for the tables of a query one by one, and has one tracker for each query.
 */
final class QueryCommits {
  private final Map<QueryPlanningTracker, Map<String, String>> known = new WeakHashMap<>();

  /** Returns the commit that the query at hand has read of a namespace before, or null. */
  synchronized String get(String namespace) {
    Map<String, String> commits = known.get(tracker());
    return commits == null ? null : commits.get(namespace);
  }

  synchronized void put(String namespace, String commit) {
    QueryPlanningTracker tracker = tracker();
    if (tracker != null) {
      known.computeIfAbsent(tracker, one -> new HashMap<>()).put(namespace, commit);
    }
  }

  private static QueryPlanningTracker tracker() {
    scala.Option<QueryPlanningTracker> found = QueryPlanningTracker.get();
    return found.isDefined() ? found.get() : null;
  }
}
