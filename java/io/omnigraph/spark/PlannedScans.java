package io.omnigraph.spark;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The scans of a session that were used last: a commit does not change, so Python plans each only once. */
final class PlannedScans {
  private static final int MOST = 64;

  private final Map<Planned.Key, Planned> known =
      new LinkedHashMap<>(MOST, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Planned.Key, Planned> eldest) {
          return size() > MOST;
        }
      };

  /**
   * Returns the scan of a data source in Python, which is for these options and columns alone.
   *
   * @param isLive whether its rows change although its commit does not
   */
  synchronized Planned get(Map<String, String> options, StructType columns, boolean isLive) {
    Planned.Key key = new Planned.Key(options, columns);
    return isLive ? make(key) : known.computeIfAbsent(key, PlannedScans::make);
  }

  private static Planned make(Planned.Key key) {
    SupportsRead table = (SupportsRead) PythonSource.table(key.columns(), key.options());
    Scan scan = table.newScanBuilder(new CaseInsensitiveStringMap(key.options())).build();
    return new Planned(key, scan, scan.toBatch());
  }

  /** A scan in Python, whose tasks are planned when they are first asked for. */
  record Planned(Key key, Scan scan, Batch batch) {
    record Key(Map<String, String> options, StructType columns) {}
  }
}
