/* trace takes one expression. */
BEGIN { trace(1, 2); }
