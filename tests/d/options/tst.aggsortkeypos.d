/*
 * aggsortkeypos is the position of the key that is compared first.
 * @flags: -q -x aggsortkey -x aggsortkeypos=1
 */
BEGIN { @[1, "b"] = sum(1); @[2, "a"] = sum(3); @[3, "c"] = sum(2); printa("%d %s %@d\n", @); exit(0); }
