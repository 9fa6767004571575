// SPDX-License-Identifier: MIT
// rounds SUM: prints "round N SUM" again and again, until its stdin ends. In each round,
// two workers allocate, fill maps, throw and catch exceptions, and so compute SUM. If a
// round computes another number, the program prints it and exits with status 1.
const { Worker, isMainThread, parentPort } = require("worker_threads");
const { createHash } = require("crypto");

function work(seed) {
    const words = new Map();
    let text = String(seed);
    for (let i = 0; i < 400; i++) {
        text = createHash("sha256").update(text + i).digest("hex");
        const key = text.slice(0, 2);
        words.set(key, (words.get(key) || "") + text[5]);
        try {
            if (text[0] === "a")
                throw new Error(text);
        } catch (thrown) {
            text += thrown.message[1];
        }
        text += Buffer.alloc(parseInt(text.slice(2, 5), 16)).length;
    }
    return createHash("md5").update(text + [...words].sort().join()).digest("hex");
}

if (!isMainThread) {
    parentPort.on("message", seed => parentPort.postMessage(work(seed)));
} else {
    let ends = false;
    process.stdin.on("end", () => { ends = true; });
    process.stdin.resume();
    const workers = [1, 2].map(() => new Worker(__filename));
    const ask = (worker, seed) => new Promise(resolve => {
        worker.once("message", resolve);
        worker.postMessage(seed);
    });
    (async () => {
        for (let n = 0; !ends; n++) {
            const sum = (await Promise.all(workers.map(ask))).join("");
            console.log("round " + n + " " + sum);
            if (process.argv.length > 2 && sum !== process.argv[2])
                process.exit(1);
        }
        for (const worker of workers)
            worker.terminate();
    })();
}
