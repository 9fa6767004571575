/* An argument that is used is given. */
BEGIN { exit($1); }
