/* caller needs a kernel. */
BEGIN { trace(caller); }
