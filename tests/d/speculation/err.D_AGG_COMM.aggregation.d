/* Nothing is aggregated after commit. */
BEGIN { commit(1); @a = count(); }
