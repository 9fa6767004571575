/* A variable that nothing sets is not known. */
BEGIN { trace(never); }
