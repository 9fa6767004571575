/* commit cannot follow an action that records data. */
BEGIN { trace(1); commit(1); }
