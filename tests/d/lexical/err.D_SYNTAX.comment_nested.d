/* A comment does not hold another one. */
BEGIN { /* outer /* inner */ exit(0); }
