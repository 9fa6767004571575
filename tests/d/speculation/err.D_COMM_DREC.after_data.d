/* commit does not follow what records. */
BEGIN { trace(1); commit(1); }
