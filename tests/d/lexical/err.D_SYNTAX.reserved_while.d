/* The reserved word while is no identifier. */
BEGIN { while = 1; }
