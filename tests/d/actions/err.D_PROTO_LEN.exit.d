/* exit needs an argument, the exit status. */
BEGIN { exit(); }
