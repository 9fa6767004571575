/* A clause may not record data after commit. */
BEGIN { commit(1); trace(1); }
