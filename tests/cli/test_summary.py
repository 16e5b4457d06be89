# SPDX-License-Identifier: Apache-2.0
"""summary: numbers equal to NumPy's and to those of matplotlib's boxplot_stats, text that fits, pictures that are
whole, outliers in a file, and what is refused."""
import json
import os
import shutil
import struct
import subprocess
import unittest
import xml.etree.ElementTree

import numpy as np

from support import (BIN, FLOATS, IS_SMALL, TYPES, VARIED_TYPES, CommandTest, is_sanitized, main, random_bits, run,
                     run_for_peak, some, values_of)

NUM_KEYS = 2003 if IS_SMALL else 20011
# closest_observation is another one in old versions of NumPy; tests/statistics has it from a new one.
METHODS = ("inverted_cdf", "averaged_inverted_cdf", "interpolated_inverted_cdf", "hazen", "weibull", "linear",
           "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest")


def box_of(values, method="linear", whis=1.5):
    """matplotlib 3.11, cbook.boxplot_stats, written down again; quartiles by any method, as ours."""
    values = np.asarray(values, "f8")
    q1, med, q3 = np.quantile(values, [0.25, 0.5, 0.75], method=method)
    iqr = q3 - q1
    low, high = np.percentile(values, whis) if isinstance(whis, tuple) else (q1 - whis * iqr, q3 + whis * iqr)
    below, above = values[values >= low], values[values <= high]
    whislo = q1 if len(below) == 0 or below.min() > q1 else below.min()
    whishi = q3 if len(above) == 0 or above.max() < q3 else above.max()
    notch = 1.57 * iqr / np.sqrt(len(values))
    return {"q1": q1, "med": med, "q3": q3, "iqr": iqr, "whislo": whislo, "whishi": whishi, "cilo": med - notch,
            "cihi": med + notch}


def as_doubles(bits, key_type):
    with np.errstate(invalid="ignore"):  # signalling NaN
        return values_of(bits, key_type).astype("f8")


def draws_png():
    """Whether this build has the module that draws PNG: the refusal of one that has not says so."""
    done = run("summary", "/dev/null", "--type", "u8", "--plot", "/nowhere/x.png")
    return "this build has no" not in done.stderr


class SummaryTest(CommandTest):
    def summary(self, *args, **rest):
        """The JSON."""
        return json.loads(self.assert_ok("summary", *args, "--json", "-", **rest).stdout)

    def assert_box(self, found, values, method="linear", whis=1.5):
        for key, expected in box_of(values, method, whis).items():
            self.assertEqual(found[key], expected, key)
        values = np.asarray(values, "f8")
        outliers = np.sort(values[(values < found["whislo"]) | (values > found["whishi"])])
        np.testing.assert_array_equal(found["fliers"], outliers)
        self.assertEqual(found["num_outliers_below"] + found["num_outliers_above"], len(outliers))
        self.assertTrue(found["fliers_complete"])
        self.assertEqual((found["min"], found["max"], found["count"]), (values.min(), values.max(), len(values)))
        np.testing.assert_allclose(found["mean"], values.mean(), rtol=1e-12, atol=1e-12 * np.abs(values).max())
        for name in ("deciles", "bowley_seven", "normal_seven"):
            table = found[name]
            np.testing.assert_array_equal(table["values"], np.quantile(values, table["q"], method=method), name)


class Numbers(SummaryTest):
    def test_every_type(self):
        for key_type in VARIED_TYPES:
            with self.subTest(type=key_type):
                bits = random_bits(key_type, NUM_KEYS, self.rng)
                values = as_doubles(bits, key_type)
                if key_type in FLOATS:
                    # Bit patterns at random are nearly all huge; sums of their differences would not be finite.
                    bits = bits[np.abs(values) < 1e4]
                    values = values[np.abs(values) < 1e4]
                path = self.save("x.npy", bits.view(TYPES[key_type][1]))
                self.assert_box(self.summary(path, "--type", key_type), values)
                raw = self.write("x.bin", bits.tobytes())
                found = self.summary(raw, "--type", key_type, "--devices", "host:3")
                self.assertEqual(found["label"], "x.bin")
                self.assertEqual(found | {"label": "x.npy"}, self.summary(path, "--type", key_type))

    def test_every_method(self):
        values = self.rng.exponential(size=NUM_KEYS)
        path = self.save("x.npy", values)
        for method in some(METHODS):
            with self.subTest(method=method):
                found = self.summary(path, "--method", method)
                self.assertEqual(found["method"], method)
                self.assert_box(found, values, method)

    def test_tukey(self):
        found = self.summary(self.save("x.npy", np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10])), "--method", "tukey")
        self.assertEqual((found["q1"], found["med"], found["q3"]), (3, 5.5, 8))

    def test_whiskers(self):
        values = self.rng.standard_cauchy(NUM_KEYS)
        path = self.save("x.npy", values)
        for text, whis in (("0", 0), ("1.5", 1.5), ("3", 3), ("1e300", 1e300), ("5,95", (5, 95)), ("0,100", (0, 100)),
                           ("2.5,97.5", (2.5, 97.5)), ("50,50", (50, 50))):
            with self.subTest(whis=text):
                self.assert_box(self.summary(path, "--whis", text), values, whis=whis)

    def test_few_keys(self):
        for values in ([7.5], [1, 2], [3, 3, 3], [0.0, -0.0], [5e-324, 1e-323], [1e308, -1e308, 1], [1e15, 1e15 + 1]):
            with self.subTest(values=values):
                path = self.save("x.npy", np.array(values, "<f8"))
                if values != [1e308, -1e308, 1]:
                    self.assert_box(self.summary(path), values)
                self.assertIn(b"median", self.assert_ok("summary", path).stdout)

    def test_stream(self):
        values = self.rng.integers(0, 1000, NUM_KEYS, dtype="<u4")
        found = self.summary("-", "--type", "u32", stdin=values.tobytes())
        self.assertEqual(found["label"], "standard input")
        self.assert_box(found, values)
        self.save("x.npy", values)
        self.assert_box(self.summary("-", stdin=self.read("x.npy")), values)

    def test_big_endian(self):
        values = self.rng.normal(size=NUM_KEYS)
        self.assert_box(self.summary(self.save("x.npy", values.astype(">f8"))), values)

    def test_integers_of_64_bits(self):
        keys = np.array([np.iinfo("i8").min, -1, 0, 1, np.iinfo("i8").max])
        found = self.summary(self.save("x.npy", keys))
        self.assertEqual((found["min"], found["med"], found["max"]), (-2**63, 0, 2**63 - 1))

    def test_extremes_that_are_no_doubles(self):
        remark = "Minimum and maximum are exact; other values beyond 2^53 are rounded to 53 bits."
        for dtype, low, high in (("<i8", -2**53 - 1, 2**62 + 1), ("<u8", 2**53 + 1, 2**64 - 1),
                                 (">i8", 2**53 + 1, 2**60 + 3)):
            keys = np.sort(self.rng.integers(low + 1, high, 5000, dtype=dtype[1:]))
            keys[[0, -1]] = low, high
            path = self.save("x.npy", self.rng.permutation(keys).astype(dtype))
            for flags in ((), ("-q", "0,1"), ("--devices", "host:3")):
                table = self.assert_ok("summary", path, *flags).stdout.decode()
                self.assertRegex(table, rf" 0 %  minimum  +{low}\n")
                self.assertRegex(table, rf"100 %  maximum  +{high}\n")
                self.assertIn(remark, table)
            found = self.summary(path)
            self.assertEqual((found["min"], found["max"]), (low, high))
        small = self.save("small.npy", np.arange(100))
        self.assertNotIn("rounded", self.assert_ok("summary", small).stdout.decode())

    def test_what_is_sorted_and_not_summarized(self):
        dates = np.array(["2020-01-01", "NaT"], "M8[D]")
        rows = np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")])
        for array, words in ((dates, ["datetime64[D]", "view('i8')", "NaT is the least"]),
                             (np.array([1, 2], "m8[ns]"), ["timedelta64[ns]", "view('i8')"]),
                             (np.array(["a", "b"], "S3"), ["S3", "array of its own"]),
                             (rows, ["record of 12 bytes", "array of its own"])):
            self.assert_refused(3, ["x.npy", "sort, argsort, merge, check and take", *words], "summary",
                                self.save("x.npy", array))

    def test_nan(self):
        values = np.array([1, 2, np.nan, 3, 4, 50.0])
        path = self.save("x.npy", values)
        found = self.summary(path)
        self.assertEqual((found["count"], found["num_nans"]), (5, 1))
        for key in ("q1", "med", "q3", "mean", "whislo", "cilo", "min"):
            self.assertIsNone(found[key], key)
        self.assertIsNone(found["histogram"])
        found = self.summary(path, "--nan", "omit")
        self.assertEqual(found["num_nans"], 1)
        self.assert_box(found, values[~np.isnan(values)])
        text = self.assert_ok("summary", path).stdout.decode()
        self.assertIn("No box plot: 1 of 6 keys are NaN", text)
        self.assertIn("nan", text)
        self.assert_refused(3, ["x.npy", "1 of 6 keys are NaN"], "summary", path, "--nan", "error")
        self.assert_refused(3, ["--plot", "NaN", "--nan omit"], "summary", path, "--plot", self.path("x.svg"))

    def test_nan_alone(self):
        path = self.save("x.npy", np.full(3, np.nan))
        self.assertIn("all keys are NaN", self.assert_ok("summary", path, "--nan", "omit").stdout.decode())
        self.assertIsNone(self.summary(path, "--nan", "omit")["med"])

    def test_infinite_keys(self):
        values = np.concatenate([self.rng.normal(size=1000), [np.inf] * 3, [-np.inf]])
        path = self.save("x.npy", values)
        found = self.summary(path)
        self.assertEqual((found["max"], found["mean"], found["histogram"]["num_not_shown"]), (None, None, 4))
        self.assertEqual(found["fliers"].count(None), 4)
        self.assertEqual(found["num_outliers_above"], (values > found["whishi"]).sum())
        self.assertIn(b"outliers", self.assert_ok("summary", path).stdout)
        half = self.save("half.npy", np.array([np.inf] * 3 + [1.0]))
        self.assertIn("quartiles or whiskers are infinite", self.assert_ok("summary", half).stdout.decode())


class AskedQuantiles(SummaryTest):
    def rows(self, *args):
        """Percentages and values of the table."""
        lines = self.assert_ok("summary", *args).stdout.decode().splitlines()
        words = [line.split() for line in lines if " % " in line]
        return {row[0]: row[-1] for row in words}

    def test_default(self):
        values = self.rng.normal(size=NUM_KEYS)
        path = self.save("x.npy", values)
        found = self.summary(path)["quantiles"]
        self.assertEqual(found["q"], [0.95, 0.99])
        np.testing.assert_array_equal(found["values"], np.quantile(values, [0.95, 0.99]))
        rows = self.rows(path)
        self.assertEqual([rows["95"], rows["99"]], [f"{v:.7g}" for v in np.quantile(values, [0.95, 0.99])])

    def test_asked(self):
        values = self.rng.exponential(size=NUM_KEYS)
        path = self.save("x.npy", values)
        for text, q in (("0.95,0.99", [0.95, 0.99]), ("0.999", [0.999]), ("1,0,0.5", [1, 0, 0.5]),
                        ("99.9%,5%", [99.9 / 100, 0.05]), ("1e-3", [0.001]), ("0.25,0.25", [0.25, 0.25])):
            with self.subTest(q=text):
                for method in ("linear", "hazen"):
                    found = self.summary(path, "-q", text, "--method", method)["quantiles"]
                    self.assertEqual(found["q"], q)
                    np.testing.assert_array_equal(found["values"], np.quantile(values, q, method=method))
                rows = self.rows(path, f"--quantiles={text}")
                for each in q:
                    self.assertEqual(float(rows[f"{each * 100:.9g}"]), float(f"{np.quantile(values, each):.7g}"))
                self.assertIn("95", rows)
                self.assertEqual(list(map(float, rows)), sorted(map(float, rows)))
        self.assertEqual(self.summary(path, "-q", "0.95", "--method", "tukey")["quantiles"],
                         self.summary(path, "-q", "0.95")["quantiles"])

    def test_nan(self):
        path = self.save("x.npy", np.array([1, 2, 3, np.nan]))
        self.assertEqual(self.summary(path, "-q", "0.5")["quantiles"]["values"], [None])
        self.assertEqual(self.summary(path, "-q", "0.5", "--nan", "omit")["quantiles"]["values"], [2])

    def test_refused(self):
        path = self.save("x.npy", np.arange(10.0))
        for text in ("", "1.1", "-0.1", "x", "0.5,", ",0.5", "0.5 ", "0.5;0.7", "nan", "inf", "101%", "%", "p95", "95"):
            with self.subTest(q=text):
                if text:
                    self.assert_refused(2, ["-q"], "summary", path, f"--quantiles={text}")
                    self.assert_refused(2, ["-q"], "summary", self.path("missing.npy"), f"--quantiles={text}")


class Histogram(SummaryTest):
    def test_counts_are_those_of_numpy(self):
        cases = {
            "normal": (self.rng.normal(size=NUM_KEYS), "linear"),
            "cauchy": (self.rng.standard_cauchy(NUM_KEYS), "symlog"),
            "lognormal": (np.exp(self.rng.normal(0, 4, NUM_KEYS)), "log"),
            "sizes": (np.floor(np.exp(self.rng.normal(8, 4, NUM_KEYS))).astype("u8"), "symlog"),
            "dice": (self.rng.integers(1, 7, NUM_KEYS), "linear"),
            "bytes": (self.rng.integers(0, 256, NUM_KEYS).astype("u1"), "linear"),
            "equal": (np.full(100, 42, "i4"), "linear"),
        }
        for name, (values, scale) in cases.items():
            with self.subTest(name=name):
                found = self.summary(self.save("x.npy", values))["histogram"]
                self.assertEqual(found["scale"], scale)
                np.testing.assert_array_equal(found["counts"], np.histogram(values, found["edges"])[0])
                self.assertEqual(sum(found["counts"]), len(values))
                self.assertLessEqual(len(found["counts"]), 100)
                if name == "normal":
                    np.testing.assert_array_equal(found["edges"], np.histogram(values, len(found["counts"]))[1])
                if name == "dice":
                    np.testing.assert_array_equal(found["edges"], np.arange(0.5, 7))

    def test_scale_by_name(self):
        values = self.rng.exponential(size=1000) + 1
        path = self.save("x.npy", values)
        for scale in ("linear", "log", "symlog"):
            found = self.summary(path, "--scale", scale)["histogram"]
            self.assertEqual(found["scale"], scale)
            np.testing.assert_array_equal(found["counts"], np.histogram(values, found["edges"])[0])
        # Bins are equally wide on the axis: linear up to the bound, then decades, with one slope where they meet.
        values = np.append(np.full(100, 0.5), np.exp(self.rng.uniform(0, 9, 1000)) * 10)
        found = self.summary(self.save("y.npy", values), "--scale", "symlog")["histogram"]
        ratio = np.array(found["edges"]) / found["linear_bound"]
        self.assertTrue((ratio < 1).any() and (ratio > 1).any())
        places = np.where(ratio <= 1, ratio, 1 + np.log(np.maximum(ratio, 1)))
        np.testing.assert_allclose(np.diff(places), np.diff(places).mean(), rtol=1e-9)
        self.assert_refused(2, ["--scale log", "symlog"], "summary", self.save("y.npy", values - 1), "--scale", "log")


class Text(SummaryTest):
    def test_table(self):
        values = np.arange(101, dtype="f8")
        lines = self.assert_ok("summary", self.save("x.npy", values)).stdout.decode().splitlines()
        for label, number in (("count", "101"), ("NaN", "0"), ("mean", "50"), ("minimum", "0"), ("median", "50"),
                              ("lower quartile", "25"), ("upper quartile", "75"), ("maximum", "100"), (" 2 %", "2"),
                              (" 9 %", "9"), ("91 %", "91"), ("98 %", "98"), ("10 %", "10"), ("90 %", "90"),
                              ("IQR", "50"), ("fence, low", "-50"), ("whisker, high", "100"), ("outliers", "0")):
            row = [line for line in lines if label in line]
            self.assertEqual(row[0].split()[-1], number, label)
        # Numbers end in the same column.
        rows = [line for line in lines[2:lines.index(row[0]) + 3] if line]
        self.assertEqual((len(rows), len({len(line) for line in rows})), (30, 1))

    def test_no_sign_of_nan(self):
        """Some machines give a sign to the NaN that they make of -inf and +inf, and keys may have one."""
        path = self.save("x.npy", np.array([-np.inf, 1, 2, 3, np.inf, -np.nan]))
        for flags in ([], ["--nan", "omit"]):
            text = self.assert_ok("summary", path, *flags).stdout.decode()
            self.assertRegex(text, r"mean +nan\n")
            self.assertNotIn(" -nan", text)
        self.assertIn("no mean of both -inf and +inf", text)
        self.assertIn("2 of the keys lie beyond the axis", text)
        self.assertNotIn("x mean", text)
        text = self.assert_ok("summary", self.save("x.npy", np.full(3, -np.nan))).stdout.decode()
        self.assertIn("No box plot: all keys are NaN.", text)
        self.assertNotIn(" -nan", text)

    def test_greatest_keys_in_full(self):
        text = self.assert_ok("summary", self.save("x.npy", np.full(3, 2**64 - 1, "u8"))).stdout.decode()
        self.assertRegex(text, r"maximum +18446744073709551615\n")

    def test_box_plot_fits_and_has_its_parts(self):
        values = np.concatenate([self.rng.normal(size=1000), [9.0, -8.0]])
        path = self.save("x.npy", values)
        for columns, expected in (("40", 40), ("80", 80), ("133", 133), ("7", 40), ("100000", 200), ("x", 80)):
            for locale in ("C", "C.UTF-8"):
                with self.subTest(columns=columns, locale=locale):
                    done = self.assert_ok("summary", path, env={"COLUMNS": columns, "LC_ALL": locale})
                    lines = done.stdout.decode().splitlines()
                    plot = lines[-6:]
                    self.assertEqual(max(len(line) for line in plot), expected - 2)
                    outlier, mean = ("○", "◆") if locale == "C.UTF-8" else ("o", "x")
                    self.assertTrue(plot[1].lstrip().startswith(outlier) and plot[1].endswith(outlier), plot[1])
                    self.assertIn(mean, plot[1])
                    self.assertIn("0", plot[4].split())
                    if locale == "C":
                        done.stdout.decode("ascii")

    def test_long_captions_are_cut(self):
        path = self.save("x.npy", np.arange(10.0))
        done = self.assert_ok("summary", path, "--caption", "Grüße " * 50, env={"COLUMNS": "50"})
        plot = done.stdout.decode().splitlines()[-7:]
        self.assertEqual(plot[5], "  " + ("Grüße " * 50)[:46])

    def test_parts_are_where_they_belong(self):
        """Of 0 to 100 on an axis of 101 cells and a little: each sign at its cell."""
        values = np.concatenate([np.linspace(40, 60, 101), [0.0, 100.0]])
        done = self.assert_ok("summary", self.save("x.npy", values), env={"COLUMNS": "104", "LC_ALL": "C"})
        line = done.stdout.decode().splitlines()[-5][2:]
        quartiles = np.quantile(values, [0.25, 0.75])
        self.assertEqual((line[0], line[99]), ("o", "o"))
        self.assertEqual((line.index("|"), line.rindex("|")), (40, 60))
        self.assertEqual([line[int(q)] for q in quartiles], ["|", "|"])
        self.assertEqual(line[50], "x")

    def test_many_outliers_are_all_found(self):
        """More than are listed: the places come from the keys."""
        values = np.concatenate([np.full(400_000, 50.0), np.linspace(0, 100, 120_001)])
        path = self.save("x.npy", values)
        found = self.summary(path)
        self.assertFalse(found["fliers_complete"])
        self.assertEqual(len(found["fliers"]), 100_000)
        self.assertEqual(found["num_outliers_below"], (values < 50).sum())
        done = self.assert_ok("summary", path, env={"COLUMNS": "104", "LC_ALL": "C"})
        line = done.stdout.decode().splitlines()[-5][2:]
        self.assertEqual(line.count("o"), 99)
        self.assert_ok("summary", path, "--outliers", self.path("o.npy"))
        np.testing.assert_array_equal(np.load(self.path("o.npy")), values[values != 50])

    def test_many_outliers_in_a_picture(self):
        """Ten places with three circles each, and none where the box is."""
        values = np.concatenate([np.full(400_000, 50.0), np.repeat(np.arange(10.0), 12_000)])
        for scale in ("linear", "symlog"):
            self.assert_ok("summary", self.save("x.npy", values), "--plot", self.path("x.svg"), "--scale", scale)
            self.assertEqual(self.read("x.svg").count(b'stroke-opacity="0.45"'), 30)

    def test_names_are_harmless(self):
        path = self.save("\x1b[31m\xff.npy".encode("latin1").decode("utf8", "surrogateescape"), np.arange(10.0))
        done = self.assert_ok("summary", path)
        self.assertNotIn(b"\x1b", done.stdout)
        done.stdout.decode("utf8")
        json.loads(self.assert_ok("summary", path, "--json", "-").stdout)


class Outputs(SummaryTest):
    def test_outliers_keep_type_and_order(self):
        for key_type in VARIED_TYPES:
            with self.subTest(type=key_type):
                bits = random_bits(key_type, NUM_KEYS, self.rng)
                path = self.save("x.npy", bits.view(TYPES[key_type][1]))
                flags = ["--type", key_type, "--nan", "omit", "--whis", "10,90"]
                found = self.summary(path, *flags)
                self.assert_ok("summary", path, *flags, "--outliers", self.path("o.npy"))
                values = as_doubles(bits, key_type)
                expected = bits[(values < found["whislo"]) | (values > found["whishi"])]
                outliers = np.load(self.path("o.npy"))
                self.assertEqual(outliers.dtype, np.dtype(TYPES[key_type][1]))
                np.testing.assert_array_equal(outliers.view(bits.dtype), expected)
                self.assertGreater(len(expected), 0)
                raw = self.assert_ok("summary", path, *flags, "--outliers", "-").stdout
                self.assertEqual(raw, expected.tobytes())

    def test_json_into_a_file(self):
        path = self.save("x.npy", self.rng.normal(size=1000))
        self.write("s.json", b"old")
        done = self.assert_ok("summary", path, "--json", self.path("s.json"))
        self.assertIn(b"median", done.stdout)
        self.assertEqual(json.loads(self.read("s.json")), self.summary(path))
        # The keys that matplotlib's bxp reads.
        self.assertLessEqual({"med", "q1", "q3", "whislo", "whishi", "mean", "fliers", "iqr", "cilo", "cihi", "label"},
                             set(self.summary(path)))

    def test_pictures_are_whole(self):
        with_png = draws_png()
        cases = {
            "normal": self.rng.normal(size=NUM_KEYS), "sizes": np.floor(np.exp(self.rng.normal(8, 4, NUM_KEYS))),
            "one": np.array([3.0]), "equal": np.full(10, 7, "u1"), "huge": np.array([-1.7e308, 0, 1, 1.7e308]),
            "infinite": np.append(self.rng.normal(size=100), np.inf), "tiny": np.array([0, 5e-324]),
            "large": np.arange(2**62, 2**62 + 100_000, 1000), "bool": np.array([0, 1, 1], "u1"),
        }
        for name, values in cases.items():
            with self.subTest(name=name):
                path = self.save("x.npy", values)
                self.assert_ok("summary", path, "--plot", self.path("x.svg"), "--caption", "<&\"ä\x01\udcff")
                root = xml.etree.ElementTree.fromstring(self.read("x.svg"))
                self.assertTrue(root.tag.endswith("svg"))
                self.assertEqual(self.read("x.svg").count(b'stroke="#cc5400"'), 1, "the median")
                self.assertGreater(self.read("x.svg").count(b'fill="#8cb0d4"'), 0, "the bars")
                texts = [element.text for element in root.iter() if element.tag.endswith("text")]
                self.assertEqual(texts[0], "x.npy")
                self.assertTrue(any(text.startswith("<&\"ä?") for text in texts), texts)
                if not with_png:
                    continue
                self.assert_ok("summary", path, "--plot", self.path("x.png"))
                png = self.read("x.png")
                self.assertEqual((png[:8], png[-8:-4]), (b"\x89PNG\r\n\x1a\n", b"IEND"))
                self.assertEqual(struct.unpack(">II", png[16:24]), (1600, 1000))

    def test_a_picture_shows_the_data(self):
        """Other data, another picture; the same data, the same bytes."""
        for name in ("x.svg", "x.png") if draws_png() else ("x.svg",):
            pictures = []
            for seed in (1, 1, 2):
                path = self.save("x.npy", np.random.default_rng(seed).normal(size=1000))
                self.assert_ok("summary", path, "--plot", self.path(name))
                pictures.append(self.read(name))
            self.assertEqual(pictures[0], pictures[1])
            self.assertNotEqual(pictures[0], pictures[2])

    def test_long_names_are_cut(self):
        path = self.save("begin" + "long" * 50 + "end.npy", np.arange(10.0))
        self.assert_ok("summary", path, "--plot", self.path("x.svg"), "--caption", "Grüße 漢字 " * 50)
        svg = self.read("x.svg").decode()
        self.assertRegex(svg, ">begin(long)*l?o?n?…[^<]*longend.npy<")
        self.assertRegex(svg, ">Grüße 漢字[^<]*…[^<]*<")

    def test_png_without_the_module(self):
        """A command that is installed without it refuses before it reads anything, and names a way to a PNG."""
        lonely = self.path("spansort")
        shutil.copy(BIN, lonely)
        done = subprocess.run([lonely, "summary", "missing.npy", "--plot", "x.png"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        for word in ("--plot", "this build has no", "spansort-png.so", ".svg", "rsvg-convert", "libcairo2"):
            self.assertIn(word, done.stderr)

    def test_starts_without_the_libraries_of_pictures(self):
        done = subprocess.run(["ldd", BIN], capture_output=True, text=True)
        for library in ("cairo", "libX", "fontconfig", "freetype", "libhwy"):
            self.assertNotIn(library, done.stdout)


class LargerThanMemory(SummaryTest):
    """-S below the file's size: every figure is the one of keys in memory."""
    LITTLE = "48M"

    def setUp(self):
        super().setUp()
        if is_sanitized():
            self.skipTest("a sanitizer's own memory is above the ceilings here")

    def save_all(self, values):
        """The keys, some of them often, in a file that is larger than what is left below the ceiling."""
        return self.save("x.npy", np.resize(values, 48_000_000 // values.itemsize))

    def assert_same(self, path, *flags):
        """Table, JSON and outliers in memory, and in blocks."""
        results = []
        for memory in ([], ["-S", self.LITTLE]):
            outputs = ["--json", self.path("s.json"), "--outliers", self.path("o.npy"), "--plot", self.path("p.svg")]
            done = self.assert_ok("summary", path, *flags, *outputs, *memory)
            results.append((done.stdout, *(self.read(name) for name in ("s.json", "o.npy", "p.svg"))))
        for of_memory, of_blocks in zip(*results):
            self.assertEqual(of_memory, of_blocks)

    def test_same_results(self):
        some_keys = 500_000
        cases = {
            "normal": self.rng.normal(size=some_keys),
            "singles": self.rng.normal(size=some_keys).astype("f4"),
            "wide": np.floor(np.exp(self.rng.normal(8, 4, some_keys))).astype("u8"),
            "few": self.rng.integers(-5, 6, some_keys).astype("i4"),
            "equal": np.full(some_keys, 42, "i8"),
            "sorted": np.sort(self.rng.exponential(size=some_keys)),
            "bytes": self.rng.integers(0, 256, some_keys).astype("u1"),
            "big-endian": self.rng.normal(size=some_keys).astype(">f8"),
            "cauchy": self.rng.standard_cauchy(some_keys),
        }
        for name, values in cases.items():
            with self.subTest(name=name):
                self.assert_same(self.save_all(values))

    def test_flags(self):
        path = self.save_all(np.round(self.rng.normal(size=100_000), 3))
        for flags in (["--method", "tukey"], ["--method", "closest_observation"], ["--whis", "5,99"], ["--whis", "0"],
                      ["-q", "0.999,1%", "--threads", "1"], ["--scale", "symlog", "--devices", "host:3"]):
            with self.subTest(flags=flags):
                self.assert_same(path, *flags)

    def test_nan(self):
        values = self.rng.normal(size=100_000)
        values[::7] = np.nan
        values[1::1000] = -np.inf
        path = self.save_all(values)
        self.assert_same(path, "--nan", "omit")
        little = ["-S", self.LITTLE]
        self.assertEqual(self.assert_ok("summary", path, *little).stdout, self.assert_ok("summary", path).stdout)
        self.assert_refused(3, ["x.npy", "are NaN"], "summary", path, "--nan", "error", *little)

    def test_memory(self):
        """The process stays below the ceiling, and a ceiling that is too low is refused with what would do."""
        path = self.save_all(self.rng.normal(size=1_000_000))
        done = self.assert_refused(6, ["x.npy", "too few", "would do"], "summary", path, "-S", "1M")
        enough = int(done.stderr.split(";")[1].split()[0])
        self.assertLessEqual(enough, 40 << 20, "a minimum that is of use")
        for ceiling in (enough + (1 << 20), 48 << 20, 75 << 20):
            done = run_for_peak("summary", path, "-S", ceiling)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLessEqual(int(done.stdout.splitlines()[-1]), 1.05 * ceiling)

    def test_input_that_shrinks(self):
        """A header that tells of more than there is, and sizes that do not fit, as in memory."""
        path = self.save_all(self.rng.normal(size=1_000_000))
        os.truncate(path, os.path.getsize(path) - 8)
        self.assert_refused(3, ["x.npy", "header claims"], "summary", path, "-S", self.LITTLE)


class BesideASort(SummaryTest):
    def test_same_as_of_the_input(self):
        values = np.append(self.rng.standard_cauchy(NUM_KEYS), self.rng.integers(0, 9, 1000))
        path = self.save("x.npy", values)
        expected = self.summary(path)
        for flags in ([], ["-r"], ["-u"], ["-r", "--devices", "host:3", "--algorithm", "rmg", "--verify"]):
            with self.subTest(flags=flags):
                self.assert_ok("sort", path, "-o", self.path("y.npy"), "--summary", self.path("s.json"), *flags)
                found = json.loads(self.read("s.json"))
                mean = found["mean"]
                np.testing.assert_allclose(mean, expected["mean"], rtol=1e-9)  # sums of another order
                self.assertEqual(found | {"mean": expected["mean"]}, expected)

    def test_of_nothing_and_of_nan(self):
        for values in ([], [np.nan, np.nan]):
            path = self.save("x.npy", np.array(values, "f8"))
            self.assert_ok("sort", path, "-o", path, "--summary", self.path("s.json"))
            found = json.loads(self.read("s.json"))
            self.assertEqual((found["num_nans"], found["med"], found["fliers"]), (len(values), None, []))
            os.remove(self.path("s.json"))

    def test_refused(self):
        path = self.save("x.npy", np.arange(10.0))
        out = self.path("y.npy")
        self.assert_refused(2, ["--summary", "twice"], "sort", path, "-o", out, "--summary", out)
        self.assert_refused(2, ["--summary"], "argsort", path, "-o", out, "--summary", self.path("s.json"))


class Refused(SummaryTest):
    def test_files(self):
        good = self.save("x.npy", np.arange(10.0))
        self.assert_refused(4, ["missing.npy"], "summary", self.path("missing.npy"))
        self.assert_refused(3, ["empty.npy"], "summary", self.write("empty.npy", b""))
        self.assert_refused(3, ["empty.bin", "no keys"], "summary", self.write("empty.bin", b""), "--type", "f32")
        self.assert_refused(3, ["none.npy", "no keys"], "summary", self.save("none.npy", np.array([], "f4")))
        self.assert_refused(3, ["odd.bin"], "summary", self.write("odd.bin", b"abc"), "--type", "f32")
        self.assert_refused(2, ["--type"], "summary", self.write("raw.bin", bytes(8)))
        self.assert_refused(3, ["directory"], "summary", self.folder, "--type", "u8")
        self.assert_refused(4, ["nowhere"], "summary", good, "--json", self.path("nowhere/s.json"))
        self.assert_refused(4, ["nowhere"], "summary", good, "--outliers", self.path("nowhere/o.npy"))

    def test_flags(self):
        path = self.save("x.npy", np.arange(10.0))
        for flags, words in ((["--method", "median"], ["--method", "median", "hazen"]),
                             (["--nan", "maybe"], ["--nan", "maybe", "omit"]),
                             (["--scale", "cubic"], ["--scale", "cubic", "symlog"]),
                             (["--plot", self.path("x.gif")], ["--plot", ".svg", ".png"]),
                             (["--plot", "-"], ["--plot", ".svg", ".png"]),
                             (["--devices", "host:0"], ["host:0"]), (["--devices", "gpu"], []),
                             (["--type", "u4"], ["--type", "u4"])):
            with self.subTest(flags=flags):
                self.assertIn(run("summary", path, *flags).returncode, (2, 5))
                self.assert_refused(run("summary", path, *flags).returncode, words, "summary", path, *flags)
        for whis in ("", "x", "-1", "nan", "inf", "1.5x", "1,", ",1", "5,1", "-5,95", "5,101", "1,2,3", "0,nan", " 1"):
            with self.subTest(whis=whis):
                self.assert_refused(2, ["--whis"], "summary", path, f"--whis={whis}")

    def test_unknown_flags_before_the_input_is_read(self):
        self.assert_refused(2, ["--whis"], "summary", self.path("missing.npy"), "--whis", "x")
        self.assert_refused(2, ["--plot"], "summary", self.path("missing.npy"), "--plot", "x.gif")

    def test_places_that_collide(self):
        path = self.save("x.npy", np.arange(10.0))
        os.symlink(path, self.path("link.npy"))
        same = self.path("same")
        for flags in (["--json", same, "--outliers", same], ["--json", "-", "--outliers", "-"]):
            self.assert_refused(2, ["--json", "--outliers", "twice"], "summary", path, *flags)
        for name in (path, self.path("link.npy")):
            self.assert_refused(2, ["--outliers", "is the input"], "summary", path, "--outliers", name)
            self.assert_refused(2, ["--json", "is the input"], "summary", path, "--json", name)

    def test_outliers_do_not_garble_a_terminal(self):
        path = self.save("x.npy", np.arange(10.0))
        leader, follower = os.openpty()
        try:
            self.assert_refused(2, ["terminal"], "summary", path, "--outliers", "-", stdout=follower)
        finally:
            os.close(leader)
            os.close(follower)

    def test_full_disk(self):
        path = self.save("x.npy", np.arange(10.0))
        with open("/dev/full", "wb") as full:
            done = run("summary", path, stdout=full)
        self.assertEqual((done.returncode, "cannot write standard output" in done.stderr), (4, True), done.stderr)


if __name__ == "__main__":
    main()
