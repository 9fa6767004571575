/* A macro variable is one that is known. */
BEGIN { exit($nosuch); }
