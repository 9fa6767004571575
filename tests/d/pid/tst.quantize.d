/*
 * quantize shows the distribution of an argument.
 * @command: spin 9 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:work:entry { @["n"] = quantize(arg0); }
