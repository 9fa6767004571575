/*
 * A clause of assignments prints an empty record; one that only aggregates prints nothing.
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { x = 1; }
BEGIN { @a = count(); }
BEGIN { exit(0); }
