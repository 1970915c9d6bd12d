package io.omnigraph.spark;

/** An error of the graph: what is wrong, and below it the note from which Python makes the error again. */
final class GraphException extends IllegalArgumentException {
  private static final long serialVersionUID = 1;

  GraphException(String message, String note) {
    super(note.isEmpty() ? message : message + "\n" + note);
  }
}
