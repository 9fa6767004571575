/* Nothing is recorded after commit. */
BEGIN { commit(1); trace(1); }
