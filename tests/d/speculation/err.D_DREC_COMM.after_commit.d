/* A clause cannot record data after commit. */
BEGIN { commit(1); trace(1); }
