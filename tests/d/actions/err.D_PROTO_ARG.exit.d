/* exit takes a number. */
BEGIN { exit("a"); }
