/*
 * format=folded prints the input for flame graphs. Each line is a stack, outermost frame first, and a count.
 * @flags: -x format=folded
 * @command: spin 5
 * @sorted
 * @replace: (?m)^calls.*\n ->
 */
pid$target:spin:work:entry { @[execname, ustack(2)] = count(); }
pid$target:spin:work:return { ustack(1); trace("not shown"); }
END { @plain["a;b", 4] = sum(12); @none = count(); @powers[1] = quantize(4); @powers[1] = quantize(8); }
