/*
 * An endbr64 at a function's entry stays in place, and all calls to the function are counted.
 * @command: cet_spin 500 2
 * @replace: ^calls .*\n -> 
 * @flags: -q -x mechanism=jump
 */
pid$target:a.out:work:entry { @e["entry"] = count(); @pc[uregs[R_RIP] == 0] = count(); }
pid$target:a.out:work:0, pid$target:a.out:work:4 { @o[probename] = count(); }
pid$target:a.out:work:return { @r["return"] = count(); }
