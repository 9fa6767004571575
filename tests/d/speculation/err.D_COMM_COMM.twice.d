/* A clause cannot commit twice. */
BEGIN { commit(1); commit(2); }
