/* The reserved word while cannot be an identifier. */
BEGIN { while = 1; }
