/* Comments do not nest. */
BEGIN { /* outer /* inner */ exit(0); }
