"""The sampling plan."""

import unittest

import support  # finds the programs
import deepseek_ocr
import workload_common as common
from workload_inputs import Sample, identify, identity, plan_batches


def names(batches):
    return [[sample.name for sample in batch.samples] for batch in batches]


class Plan(support.Case):
    def plan(self, *words):
        return plan_batches(deepseek_ocr.parse(words))

    def root(self, *files):
        for name in files:
            self.write(name)
        return ("--dataset-root", str(self.folder))

    def test_images_made_from_the_seed(self):
        batches = self.plan("--seed", "7", "--num-samples-per-epoch", "2", "--num-epochs", "2")
        self.assertEqual([(b.epoch, b.number) for b in batches], [(1, 1), (1, 2), (2, 1), (2, 2)])
        self.assertEqual(names(batches), [["synthetic-7"], ["synthetic-8"]] * 2)
        self.assertEqual(batches[0].samples, (Sample("synthetic-7", None, 7),))

    def test_patterns(self):
        root = self.root("b.png", "a.jpg", "c.txt", "in/d.png")
        self.assertEqual(names(self.plan(*root, "--num-samples-per-epoch", "0")),
                         [["a.jpg"], ["b.png"]])
        self.assertEqual(names(self.plan(*root, "--num-samples-per-epoch", "0",
                                         "--fallback-patterns", "**/*.png, *.png,,b*")),
                         [["b.png"], ["in/d.png"]])

    def test_a_file_list_goes_before_patterns(self):
        root = self.root("b.png", "a.jpg", "in/d.gif")
        listed = self.write("list.txt", "# a comment\n\n  in/d.gif \na.jpg\n")
        batches = self.plan(*root, "--subset-filelist", str(listed),
                            "--num-samples-per-epoch", "0")
        self.assertEqual(names(batches), [["in/d.gif"], ["a.jpg"]])
        self.assertEqual(batches[0].samples[0].path, self.folder / "in/d.gif")

    def test_a_file_list_alone_is_relative_to_itself(self):
        self.root("in/d.png")
        listed = self.write("in/list.txt", "d.png")
        batches = self.plan("--subset-filelist", str(listed))
        self.assertEqual(batches[0].samples[0].path, self.folder / "in/d.png")

    def test_so_many_samples_and_epochs(self):
        root = self.root("a.png", "b.png", "c.png")
        self.assertEqual(names(self.plan(*root, "--num-samples-per-epoch", "2",
                                         "--num-epochs", "2")), [["a.png"], ["b.png"]] * 2)
        self.assertEqual(names(self.plan(*root, "--num-samples-per-epoch", "5")),
                         [["a.png"], ["b.png"], ["c.png"], ["a.png"], ["b.png"]])

    def test_named_inputs_go_before_a_list(self):
        root = self.root("b.png", "a.jpg")
        listed = self.write("list.txt", "a.jpg")
        batches = self.plan(*root, "--subset-filelist", str(listed), "--input", "b.png",
                            "--input", f"sha256:{'0' * 64}:synthetic-3",
                            "--num-samples-per-epoch", "0")
        self.assertEqual([batch.samples[0] for batch in batches],
                         [Sample("b.png", self.folder / "b.png"),
                          Sample("synthetic-3", seed=3, sha256="0" * 64)])

    def test_a_named_input_must_be_there(self):
        root = self.root("b.png")
        for word in ("c.png", "sha256:abc:b.png", f"sha256:{'0' * 64}:", "sha256:"):
            with self.assertRaises(common.WorkloadError) as raised:
                self.plan(*root, "--input", word)
            self.assertEqual(raised.exception.status, common.USAGE)

    def test_an_input_is_the_one_that_was_asked_for(self):
        known = identity("a", b"text")
        self.assertEqual(identify(Sample("a", sha256=known["sha256"]), b"text"), known)
        with self.assertRaisesRegex(common.WorkloadError, "its content is not"):
            identify(Sample("a", sha256=known["sha256"]), b"other")

    def test_batches_are_full(self):
        root = self.root("a.png", "b.png", "c.png")
        self.assertEqual(names(self.plan(*root, "--batch", "2", "--num-samples-per-epoch", "3")),
                         [["a.png", "b.png"], ["c.png", "a.png"]])
        self.assertEqual(names(self.plan("--batch", "2")), [["synthetic-0", "synthetic-1"]])

    def test_random_order(self):
        root = self.root(*(f"{i}.png" for i in range(8)))
        words = (*root, "--num-samples-per-epoch", "0", "--num-epochs", "2", "--randomize")
        order = [batch[0] for batch in names(self.plan(*words))]
        listed = [f"{i}.png" for i in range(8)]
        self.assertEqual(sorted(order[:8]), listed)
        self.assertEqual(sorted(order[8:]), listed)
        self.assertNotEqual(order[:8], listed)
        self.assertNotEqual(order[:8], order[8:])
        self.assertEqual(order, [batch[0] for batch in names(self.plan(*words))])
        self.assertNotEqual(
            order, [batch[0] for batch in names(self.plan(*words, "--seed", "1"))])

    def test_errors(self):
        root, at = self.root("c.txt"), str(self.folder)
        listed = self.write("list.txt", "c.txt\nmissing.png\n")
        empty = self.write("empty.txt", "# nothing\n")
        binary = self.folder / "binary.txt"
        binary.write_bytes(b"\xff\xfe")
        for message, words in [
            (f"{at}: no file matches --fallback-patterns '*.png,*.jpg'", root),
            ("--fallback-patterns '/x': {}", (*root, "--fallback-patterns", "/x")),
            (f"{listed}:2: '{at}/missing.png': no such file",
             (*root, "--subset-filelist", str(listed))),
            (f"{empty}: names no image", ("--subset-filelist", str(empty))),
            (f"{binary}: {{}}", ("--subset-filelist", str(binary))),
            ("--num-samples-per-epoch 0 takes all of a dataset: --dataset-root is missing",
             ("--num-samples-per-epoch", "0")),
        ]:
            with self.subTest(message=message):
                self.fails(common.USAGE, message, self.plan, *words)

    def test_identity(self):
        self.assertEqual(identity("a", b"abc"), {
            "name": "a", "bytes": 3,
            "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"})


if __name__ == "__main__":
    unittest.main()
