/* An aggregation cannot follow commit. */
BEGIN { commit(1); @a = count(); }
