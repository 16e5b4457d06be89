# SPDX-License-Identifier: Apache-2.0
"""Flags, help, and the subcommands that do not sort: check, gen, devices, plan."""
import json
import os
import shutil
import subprocess

import numpy as np

from support import (BIN, CommandTest, FLOATS, TYPES, VARIED_TYPES, is_sanitized, main, random_bits, run,
                     run_for_peak, some,
                     special_bits)

DISTRIBUTIONS = ["uniform", "normal", "zero", "sorted", "reverse", "nearly-sorted", "staggered", "bucket-sorted",
                 "zipf:1", "entropy:4"]


class Flags(CommandTest):
    def setUp(self):
        super().setUp()
        self.input = self.save("x.npy", np.arange(100, dtype="<u4")[::-1])
        self.output = self.write("y.npy", b"the old output")

    def sort_refused(self, status, words, *flags):
        for command in ("sort", "argsort"):
            self.assert_refused(status, words, command, self.input, "-o", self.output, *flags)

    def test_help_and_version(self):
        for args in (["--help"], ["-h"], ["sort", "--help"], ["argsort", "-h"], ["check", "--help"], ["gen", "--help"],
                     ["devices", "--help"], ["plan", "--help"]):
            done = self.assert_ok(*args)
            self.assertIn(b"Usage: spansort", done.stdout)
            self.assertIn(b"Exit status", done.stdout)
        self.assertRegex(self.assert_ok("--version").stdout.decode(), r"^spansort \d+\.\d+\.\d+")

    def test_unknown_things(self):
        self.assert_refused(2, ["subcommand"])
        self.assert_refused(2, ["frobnicate"], "frobnicate")
        self.assert_refused(2, ["IN", "spansort sort --help"], "sort")
        self.assert_refused(2, ["--frobnicate"], "sort", self.input, "--frobnicate")
        self.assert_refused(2, ["more"], "sort", self.input, "more")
        self.assert_refused(2, ["--output"], "gen", "10", "--type", "u8")
        self.assert_refused(2, ["--type"], "gen", "10", "-o", self.output)

    def test_sizes(self):
        # Without a number, signed, fractional, with a rest, zero, too large for 64 bits with or without the unit.
        for size in some(("1e99", "-1", "0", "0K", "4Gx", "18446744073709551616", "18446744073709551615K", "16777216T",
                          "4 G", " 4G", "+4G", "G", "%", "0%", "101%", "50%%", "0x10", "1,5", "4KiBs", "4Ki B", "inf",
                          "1.G", ".5G", "1..5G", "0.5", "1e", "1e-10G", "1e99999", "4E", "4kb", "4Kib")):
            with self.subTest(size=size):
                for flags in ([f"-S{size}"], ["-S", size], [f"--buffer-size={size}"]):
                    self.assert_refused(2, ["-S"], "sort", self.input, "-o", self.output, *flags)
        for flag in ("-S", "--buffer-size"):
            self.assert_refused(2, ["--buffer-size"], "sort", self.input, "-o", self.output, flag)
        for size in ("1G", "1048576K", "1T", "16777215T", "100%", "18446744073709551615", "1.5G", "1e9", "1e+9",
                     "500MB", "4GiB", "4g", "99.5%", "0.5T", "1P"):
            self.assert_ok("sort", self.input, "-o", self.path("z.npy"), "-S", size)

    def test_device_memory(self):
        for size in ("0", "1.5X", "-1", "G", "101%", "1e99"):
            self.sort_refused(2, ["--device-memory"], f"--device-memory={size}")
        for size in ("1G", "1048576K", "100%", "1.5G", "1e9", "900MB"):
            self.assert_ok("sort", self.input, "-o", self.path("z.npy"), "--device-memory", size, "--devices", "host:1")
        self.sort_refused(6, ["device_memory_bytes"], "--device-memory", "1K", "--devices", "host:3")

    def test_counts_and_seeds(self):
        for count in some(("-1", "1.5", "10KB", "10Kib", "0x10", "18446744073709551616", "1e20", "1.2345K", "1e-1", "",
                           " 1", "ten", "1 000", "1,000", "0.0000000000000000000000001")):
            with self.subTest(count=count):
                self.assert_refused(2, ["N", "1e6"], "gen", count, "--type", "u8", "-o", self.output)
                if count:
                    self.sort_refused(2, ["--head"], f"--head={count}")
        for count in some(("-1", "1e7", "10K", "0x10", "18446744073709551616", "1.0", "", " 1", "ten", "1 000")):
            with self.subTest(count=count):
                self.assert_refused(2, ["--seed"], "gen", "1", "--type", "u8", "-o", self.output, "--seed", count)
                if count:
                    self.sort_refused(2, ["--seed"], "--seed", count)

    def test_counts(self):
        for text, count in (("0", 0), ("0K", 0), ("0e99", 0), ("1e3", 1000), ("1E3", 1000), ("1.5e3", 1500),
                            ("2K", 2000), ("2k", 2000), ("0.5K", 500), ("1.25Ki", 1280), ("2Ki", 2048),
                            ("0.001M", 1000), ("1M", 10**6), ("1.50e+1", 15), ("1500e-2", 15), ("0.000001G", 1000),
                            ("00012", 12), ("12.0", 12)):
            with self.subTest(text=text):
                self.assertEqual(len(self.assert_ok("gen", text, "--type", "u8", "-o", "-").stdout), count)
                head = self.assert_ok("sort", self.input, "--head", text, "-o", "-").stdout
                self.assertEqual(len(head) - 128, 4 * min(count, 100))

    def test_sizes_mean_what_they_say(self):
        """The ceiling as the plan says it. % is of memory."""
        for text, words in (("2097152K", "2.0 GiB"), ("2G", "2.0 GiB"), ("1.5GiB", "1.5 GiB"), ("100M", "100.0 MiB"),
                            ("100MB", "95.4 MiB"), ("1e8", "95.4 MiB"), ("0.1T", "102.4 GiB")):
            plan = self.assert_ok("sort", self.input, "--dry-run", "-S", text).stdout.decode()
            self.assertIn(f"memory   {words} at most", plan, text)

    def test_types(self):
        for name in ("u128", "U32", "float", "<f4", "", "u32 ", "u", "HUGEINT"):
            with self.subTest(name=name):
                self.assert_refused(2, ["--type"], "gen", "1", "--type", name, "-o", self.output)
                if name:
                    self.sort_refused(2, ["--type", name, "bf16"], "--type", name)

    def test_devices_flag(self):
        for devices in some(("host:0", "host:99999", "cpu:-1", "cpu:", "tpu", "", "host:1x",
                             "host:18446744073709551617")):
            with self.subTest(devices=devices):
                self.sort_refused(2, ["device"], f"--devices={devices}")
        if b"no GPU" in run("devices").stdout:
            self.sort_refused(5, ["GPU"], "--devices", "gpu")
            self.sort_refused(5, ["GPU"], "--devices", "gpu:0,1")

    def test_threads_flag(self):
        for threads in ("0", "-1", "1025", "x", "1.5", "18446744073709551617"):
            with self.subTest(threads=threads):
                self.sort_refused(2, ["--threads"], f"--threads={threads}")
                for command in ("summary", "check", "plan"):
                    self.assert_refused(2, ["--threads"], command, self.input, f"--threads={threads}")
        results = set()
        num_processors = json.loads(self.assert_ok("devices", "--json").stdout)["num_processors"]
        for threads in ("1", "2", "5"):
            usable = min(int(threads), num_processors)
            expected = [max(1, (usable + 1) // 2), max(1, usable // 2)]
            report = self.path("report.json")
            self.assert_ok("sort", self.input, "-o", self.output, "--devices", "host:2", "--threads", threads,
                           "--report", report)
            with open(report, encoding="utf-8") as file:
                self.assertEqual([rank["num_threads"] for rank in json.load(file)["ranks"]], expected)
            results.add(self.assert_ok("summary", self.input, "--threads", threads).stdout)
            results.add(self.assert_ok("check", self.output, "--threads", threads).stdout)
            self.assert_ok("plan", self.input, "--devices", "host:2", "--threads", threads)
            self.assertEqual(self.assert_ok("sort", "-c", self.output, "--threads", threads).stdout, b"")
        self.assertEqual(len(results), 2)

    def test_devices_are_refused_before_the_input_is_read(self):
        command = subprocess.Popen([BIN, "sort", "-", "--type", "u8", "-o", self.output, "--devices", "host:0"],
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(command.wait(timeout=60), 2)  # although its standard input is still open
        command.communicate()

    def test_algorithm_and_progress(self):
        self.sort_refused(2, ["algorithm", "bogo"], "--algorithm", "bogo")
        self.sort_refused(2, ["--progress", "sometimes"], "--progress", "sometimes")

    def test_distributions(self):
        for name in ("unknown", "zipf", "zipf:-1", "zipf:x", "zipf:nan", "entropy:0", "entropy:65", "entropy:1.5", ""):
            with self.subTest(name=name):
                self.assert_refused(2, ["--distribution"], "gen", "1", "--type", "u8", "-o", self.output,
                                    f"--distribution={name}")

    def test_keys_do_not_garble_a_terminal(self):
        leader, follower = os.openpty()
        try:
            self.assert_refused(2, ["terminal"], "sort", self.input, "-o", "-", stdout=follower)
        finally:
            os.close(leader)
            os.close(follower)

    def test_locale_does_not_matter(self):
        """Decimal commas and grouping: same bytes, same messages."""
        results = set()
        for locale in ("C", "de_DE.UTF-8", "en_US.UTF-8", "C.UTF-8", "no_such_locale"):
            env = {"LC_ALL": locale, "LANG": locale, "LC_NUMERIC": locale}
            self.assert_ok("gen", "123456", "--type", "f64", "-o", self.path("g.npy"), "--distribution", "zipf:1.5",
                           env=env)
            self.assert_ok("sort", self.path("g.npy"), "-o", self.path("s.npy"), env=env)
            check = run("check", self.path("g.npy"), env=env)
            results.add((self.read("g.npy"), self.read("s.npy"), check.stdout, check.stderr))
        self.assertEqual(len(results), 1)


class Check(CommandTest):
    def fields(self, done):
        return dict(line.split(": ") for line in done.stdout.decode().splitlines())

    def test_fields(self):
        done = self.assert_ok("check", self.save("x.npy", np.array([1, 1, 2, 2, 2, 9], "<u2")))
        fields = self.fields(done)
        self.assertEqual((fields["keys"], fields["type"], fields["duplicates"]), ("6", "u16", "3"))
        self.assertRegex(fields["checksum"], "^[0-9a-f]{32}$")

    def test_duplicates_are_counted_or_said_not_to_be(self):
        """Of keys out of order, one read knows equal neighbours and no more: 5, 1, 5 would have one duplicate."""
        path = self.save("x.npy", np.array([5, 1, 5, 5, 5], "<i4"))
        fields = self.fields(run("check", path))
        self.assertEqual(fields["duplicates"],
                         "not counted, for the keys are out of order (2 equal their left neighbour)")
        path = self.save("x.npy", np.array([1, 5, 5, 5], "<i4"))
        self.assertEqual(self.fields(run("check", path))["duplicates"], "2")
        done = run("check", path, "-u")
        self.assertEqual((done.returncode, self.fields(done)["duplicates"]), (1, "2"))
        self.assertIn("not counted", self.fields(run("check", path, "-r"))["duplicates"])
        records = self.write("x.bin", bytes([1, 9, 5, 8, 5, 7]))
        flags = ["--record", "2", "--key", "0:1:u8"]
        self.assertEqual(self.fields(run("check", records, *flags))["duplicates"], "1")
        done = run("check", records, *flags, "-u")
        self.assertEqual((done.returncode, self.fields(done)["duplicates"]), (1, "1"))
        for more in ([], ["-u"]):
            done = run("check", records, *flags, "-r", *more)
            self.assertEqual(done.returncode, 1)
            self.assertIn("not counted", self.fields(done)["duplicates"])

    def test_checksum_is_of_the_multiset(self):
        for key_type in VARIED_TYPES:
            keys = random_bits(key_type, 1000, self.rng)
            sums = set()
            for order in (keys, keys[::-1], self.rng.permutation(keys)):
                done = run("check", self.write("x.bin", order.tobytes()), "--type", key_type)
                sums.add(self.fields(done)["checksum"])
            self.assertEqual(len(sums), 1, key_type)
            keys[17] ^= keys.dtype.type(1)
            done = run("check", self.write("x.bin", keys.tobytes()), "--type", key_type)
            self.assertNotIn(self.fields(done)["checksum"], sums, key_type)

    def test_first_disorder(self):
        path = self.save("x.npy", np.array([1, 5, 5, 3, 4, 2], "<i4"))
        done = run("check", path)
        self.assertEqual((done.returncode, done.stderr), (1, f"spansort: {path}:3: disorder: 3 after 5\n"))
        self.assertEqual(self.fields(done)["keys"], "6")
        done = run("check", path, "-r")
        self.assertEqual((done.returncode, done.stderr), (1, f"spansort: {path}:1: disorder: 5 after 1\n"))

    def test_unique(self):
        path = self.save("x.npy", np.array([1, 5, 5, 6], "<i4"))
        self.assert_ok("check", path)
        done = run("check", path, "-u")
        self.assertEqual((done.returncode, done.stderr), (1, f"spansort: {path}:2: disorder: 5 after 5\n"))

    def test_floats_compare_by_value_and_nan_is_last(self):
        for key_type in FLOATS:
            special = special_bits(key_type)
            sorted_path = self.path("s.bin")
            for flags in ([], ["-r"]):
                path = self.write("x.bin", special.tobytes())
                self.assert_ok("sort", path, "--type", key_type, "-o", sorted_path, *flags)
                self.assert_ok("check", sorted_path, "--type", key_type, *flags)
        for values in ([0.0, -0.0], [-0.0, 0.0], [1, np.nan], [np.nan, -np.nan]):
            self.assert_ok("check", self.save("x.npy", np.array(values, "<f8")))
        self.assertEqual(run("check", self.save("x.npy", np.array([np.nan, 1], "<f8"))).returncode, 1)
        self.assertEqual(run("check", self.save("x.npy", np.array([np.nan, 1], "<f8")), "-r").returncode, 1)

    def test_every_swap_of_neighbours_shows(self):
        keys = np.arange(300, dtype="<u4")
        for at in some(some(range(299))):
            swapped = keys.copy()
            swapped[[at, at + 1]] = swapped[[at + 1, at]]
            done = run("check", self.save("x.npy", swapped))
            self.assertEqual(done.returncode, 1)
            self.assertIn(f":{at + 1}: disorder: {at} after {at + 1}", done.stderr)

    def test_empty_and_stream(self):
        self.assert_ok("check", self.save("x.npy", np.array([], "<f4")))
        done = run("check", "-", "--type", "u8", stdin=b"\x01\x00")
        self.assertEqual((done.returncode, done.stderr), (1, "spansort: -:1: disorder: 0 after 1\n"))


class Gen(CommandTest):
    def test_all_types_and_distributions(self):
        for key_type in VARIED_TYPES:
            dtype = TYPES[key_type][1]
            for distribution in some(DISTRIBUTIONS):
                with self.subTest(type=key_type, distribution=distribution):
                    flags = ["1000", "--type", key_type, "--distribution", distribution, "--seed", "7"]
                    self.assert_ok("gen", *flags, "-o", self.path("x.npy"))
                    array = np.load(self.path("x.npy"))
                    self.assertEqual((array.shape, array.dtype), ((1000,), np.dtype(dtype)))
                    stream = self.assert_ok("gen", *flags, "-o", "-").stdout
                    self.assertEqual(stream, array.tobytes())
                    if distribution == "sorted":
                        self.assert_ok("check", self.path("x.npy"), "--type", key_type)

    def test_seed(self):
        outputs = []
        for seed in ("1", "1", "2", "18446744073709551615"):
            outputs.append(self.assert_ok("gen", "100", "--type", "u64", "-o", "-", "--seed", seed).stdout)
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(len(set(outputs)), 3)

    def test_none(self):
        self.assert_ok("gen", "0", "--type", "f32", "-o", self.path("x.npy"))
        self.assertEqual(np.load(self.path("x.npy")).shape, (0,))


class Explain(CommandTest):
    def test_devices(self):
        listed = self.assert_ok("devices").stdout
        self.assertIn(b"host:0", listed)
        described = json.loads(self.assert_ok("devices", "--json").stdout)
        self.assertIn(f"{described['num_processors']} processors".encode(), listed)
        self.assertIn(described["num_processors"], range(1, len(os.sched_getaffinity(0)) + 1))
        self.assertGreaterEqual(len(described["devices"]), 1)
        host = described["host"]
        self.assertRegex(listed.decode(), r"CPU: (\d+|unknown) cores?, (\d+|unknown) threads?, of which")
        self.assertRegex(listed.decode(), r"memory: [0-9.]+ .iB in \d+ NUMA nodes?, [0-9.]+ .iB free")
        self.assertIn(f"sorts use {host['vector_target']}\n", listed.decode())
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = file.read()
        if "avx512bw" in flags and "avx512vl" in flags:
            self.assertEqual(host["vector_target"], "AVX-512")
        if host["num_hardware_threads"] != 0:
            self.assertEqual(host["num_hardware_threads"], len(os.sched_getaffinity(0)))
            self.assertLessEqual(host["num_cores"], host["num_hardware_threads"])
        hosts = [d for d in described["devices"] if d["name"].startswith("host")]
        self.assertEqual(host["num_numa_nodes"], len(hosts))
        self.assertEqual(host["memory_bytes"], sum(d["memory_bytes"] for d in hosts))
        num_gpus = sum(d["name"].startswith("gpu") for d in described["devices"])
        self.assertEqual(len(described["links"]), num_gpus * (num_gpus - 1))

    def test_each_numa_node_is_a_device(self):
        """A machine with two nodes, made up by hwloc: each is a device."""
        nodes = {"HWLOC_SYNTHETIC": "numa:2 core:1 pu:1"}
        described = json.loads(self.assert_ok("devices", "--json", env=nodes).stdout)
        if described["host"]["num_numa_nodes"] == 1:
            self.skipTest("this hwloc, or the processors of this process, leave one node")
        hosts = [(d["name"], d["numa_node"]) for d in described["devices"] if d["name"].startswith("host")]
        self.assertEqual(hosts, [("host:0", 0), ("host:1", 1)])
        path = self.path("x.npy")
        self.assert_ok("gen", "100000", "--type", "u32", "-o", path)
        expected = np.sort(np.load(path))
        for algorithm, devices, num_ranks in (("rmg", "cpu", 2), ("single", "cpu", 1), ("rmg", "host:4", 4)):
            with self.subTest(algorithm=algorithm, devices=devices):
                report = self.path("report.json")
                self.assert_ok("sort", path, "-o", self.path("y.npy"), "--algorithm", algorithm, "--devices", devices,
                               "--report", report, env=nodes)
                np.testing.assert_array_equal(np.load(self.path("y.npy")), expected)
                with open(report, encoding="utf-8") as file:
                    ranks = json.load(file)["ranks"]
                self.assertEqual([r["device"] for r in ranks], [f"host:{i}" for i in range(num_ranks)])

    def test_driver(self):
        """No driver, and drivers that say why they are of no use: in words, in both forms."""
        listed = self.assert_ok("devices").stdout.decode()
        reason = json.loads(self.assert_ok("devices", "--json").stdout)["gpu"]
        if reason:
            self.assertEqual(listed.splitlines()[-1], reason)
        if "no GPU backend" not in reason:
            self.skipTest("this build has a GPU backend, which wants a whole driver")
        compiler = shutil.which(os.environ.get("CC", "cc"))
        if "no NVIDIA driver found" not in reason or compiler is None or is_sanitized():
            self.skipTest("this machine has a driver, or no compiler for one")
        whole = {"cuInit": "int cuInit(unsigned flags) { (void)flags; return 0; }",
                 "cuDriverGetVersion": "int cuDriverGetVersion(int* version) { *version = 12080; return 0; }",
                 "cuDeviceGetCount": "int cuDeviceGetCount(int* count) { *count = 2; return 0; }",
                 "cuGetErrorString": "int cuGetErrorString(int status, const char** text) "
                                     "{ *text = \"out of order\"; return status == 0; }"}
        fails = {"cuInit": "int cuInit(unsigned flags) { (void)flags; return 999; }"}
        for other, words in (
                ({}, "NVIDIA driver for CUDA 12.8 with 2 GPUs"),
                ({"cuDeviceGetCount": "int cuDeviceGetCount(int* count) { *count = 1; return 0; }"},
                 "NVIDIA driver for CUDA 12.8 with 1 GPU"),
                (fails, "the NVIDIA driver says: out of order (error 999)"),
                (fails | {"cuGetErrorString": ""}, "the NVIDIA driver says: unknown error (error 999)"),
                (fails | {"cuGetErrorString": "int cuGetErrorString(int s, const char** t) { (void)t; return s; }"},
                 "the NVIDIA driver says: unknown error (error 999)"),
                ({"cuDriverGetVersion": "int cuDriverGetVersion(int* version) { return *version = 1; }"},
                 "the NVIDIA driver does not answer"),
                ({"cuDeviceGetCount": "int cuDeviceGetCount(int* count) { return *count = 1; }"},
                 "the NVIDIA driver does not answer"),
                *(({name: ""}, "the NVIDIA driver's library libcuda.so.1 is not whole")
                  for name in ("cuInit", "cuDriverGetVersion", "cuDeviceGetCount"))):
            source = self.write("driver.c", "\n".join((whole | other).values()).encode())
            library = self.path("libcuda.so.1")
            subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
            done = self.assert_ok("devices", env={"LD_LIBRARY_PATH": self.folder})
            self.assertIn(f"no GPU can be used: {words}; this build of spansort has no GPU backend",
                          done.stdout.decode())

    def test_plan(self):
        path = self.path("x.npy")
        self.assert_ok("gen", "100000", "--type", "u32", "-o", path)
        for devices in ("cpu", "host:3", "host:4"):
            text = self.assert_ok("plan", path, "--devices", devices).stdout
            self.assertGreater(len(text), 4)
            json.loads(self.assert_ok("plan", path, "--devices", devices, "--json").stdout)
        self.assert_refused(2, ["device"], "plan", path, "--devices", "host:0")

    def test_plan_counts_files_as_they_are_read(self):
        """Of a file that is counted in blocks, the plan is that of the same keys in memory, which a stream is."""
        keys = {
            "u32": self.rng.integers(0, 2**32, 200_000, dtype="u4"),
            "f64": self.rng.normal(size=200_000),
            "u64": np.repeat(self.rng.integers(0, 2**64, 5, dtype="u8"), 30_000),  # buckets that span
            "i16": self.rng.integers(-100, 100, 200_000).astype("i2"),
            "u8": np.zeros(100_000, "u1"),
            "i64": self.rng.integers(0, 50, 200_000) ** 3,
        }
        for key_type, values in keys.items():
            path = self.save("x.npy", values)
            for devices in ("host:1", "host:3", "host:7"):
                for flags in ([], ["-r"], ["--json", "-S", "1"]):
                    with self.subTest(type=key_type, devices=devices, flags=flags):
                        of_file = self.assert_ok("plan", path, "--devices", devices, *flags).stdout
                        flags = [flag for flag in flags if flag not in ("-S", "1")]
                        stream = self.assert_ok("plan", "-", "--devices", devices, *flags, stdin=self.read("x.npy"))
                        self.assertEqual(of_file, stream.stdout)

    def test_plan_takes_little_memory(self):
        if is_sanitized():
            self.skipTest("sanitizers take memory of their own")
        path = self.path("x.bin")
        for distribution in ("uniform", "zero", "zipf:1.5"):
            self.assert_ok("gen", "12500000", "--type", "u64", "-o", path, "--distribution", distribution)
            done = run_for_peak("plan", path, "--type", "u64", "--devices", "host:4", "-S", "32M")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLess(int(done.stdout.splitlines()[-1]), 64 << 20)


if __name__ == "__main__":
    main()
