/*
 * In a return probe, arg0 is the offset of the return and arg1 is the return value.
 * @command: spin 10 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:work:return { total += arg1; offset = arg0; }
pid$target:a.out:ten:return { ten = arg1; }
END { printf("%d %d %d\n", total, ten, offset > 0); }
