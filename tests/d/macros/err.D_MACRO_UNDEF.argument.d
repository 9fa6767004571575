/* An argument that the program uses must be given. */
BEGIN { exit($1); }
