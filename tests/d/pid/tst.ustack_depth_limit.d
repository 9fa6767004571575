/*
 * The argument of ustack also limits the number of frames in an aggregation key.
 * @command: spin 20 1
 * @replace: ^calls .*\n -> 
 * @replace: \+0x[0-9a-f]+ -> +OFF
 * @flags: -q
 */
pid$target:a.out:work:entry { @[arg0 > 9 ? "late" : "early", ustack(1)] = count(); }
END { printa("%s%k%@d\n", @); }
