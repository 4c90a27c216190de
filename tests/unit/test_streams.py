"""Random numbers keyed on seed, copy, token and step."""

import numba
import numpy as np
import pytest
from scipy import special, stats

import mfpde
from mfpde.streams import Stream, random_stream
from mfpde.transform.philox_kernels import fill_words

#: of the tests of Random123: counter, key, and the words that follow from them
KNOWN = [
    ("0 0 0 0", "0 0", "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b"),
    (
        "ffffffffffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff",
        "ffffffffffffffff ffffffffffffffff",
        "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0",
    ),
    (
        "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89",
        "452821e638d01377 be5466cf34e90c6c",
        "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6",
    ),
]


def words(text):
    return np.array([int(word, 16) for word in text.split()], dtype=np.uint64)


def made(counter, key, blocks):
    out = np.empty((blocks, 4), dtype=np.uint64)
    fill_words(counter, key, out)
    return out


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter, key, expected):
    np.testing.assert_array_equal(made(words(counter), words(key), 1)[0], words(expected))


def test_the_generator_of_numpy():
    """Another program of the same generator; it adds 1 to its counter before it draws."""
    key, counter = words("9 a"), words("5 fffffffffffffff0 3 4")
    theirs = np.random.Philox(key=key, counter=counter).random_raw(44).reshape(11, 4)
    np.testing.assert_array_equal(made(words("6 fffffffffffffff0 3 4"), key, 11), theirs)


def test_uniforms_and_normals_are_what_the_words_say():
    stream = Stream(seed=3, copy=8, purpose=2)
    raw = made(words("0 b 0 2"), words("3 8"), 300).ravel()
    uniform = ((raw >> np.uint64(12)).astype(float) + 0.5) / 2.0**52
    np.testing.assert_array_equal(stream.uniforms(11, 1200)[:, 0], uniform)
    radius = np.sqrt(-2 * np.log((raw[::2].astype(float) + 0.5) / 2.0**64))
    rest = (raw[1::2] << np.uint64(2)).view(np.int64) * 2.0**-63  # from -1 to 1
    angle = (raw[1::2] >> np.uint64(62)).astype(float) * np.pi / 2 + rest * np.pi / 4
    expected = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    np.testing.assert_allclose(stream.normals(11, 600, 2), expected, rtol=2e-15, atol=1e-14)


@pytest.mark.parametrize("draw", ["uniforms", "normals"])
@pytest.mark.parametrize("components", [1, 2, 3])
def test_bits_depend_neither_on_slices_nor_on_threads(draw, components):
    numbers = getattr(Stream(seed=1), draw)
    whole = numbers(5, 70_000, components)
    for first, count in ((0, 1), (1, 2), (33_333, 36_667), (69_999, 1), (7, 0)):
        part = numbers(5, count, components, first)
        np.testing.assert_array_equal(part, whole[first : first + count])
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = numbers(5, 70_000, components)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(alone, whole)
    given = np.zeros_like(whole)
    assert numbers(5, 70_000, components, out=given) is given
    np.testing.assert_array_equal(given, whole)


def test_every_key_has_numbers_of_its_own():
    streams = [Stream(), Stream(seed=1), Stream(copy=1), Stream(purpose=2)]
    drawn = np.concatenate([stream.uniforms(step, 4000) for stream in streams for step in (0, 1)])
    assert np.unique(drawn).size == drawn.size
    assert np.intersect1d(drawn, random_stream(4000, 0).random(4000)).size == 0


@pytest.mark.parametrize("given", [{"seed": -1}, {"seed": 2**64}, {"copy": 0.5}, {"purpose": 0}])
def test_what_no_stream_has(given):
    with pytest.raises(mfpde.errors.ProblemError, match="must be a whole number"):
        Stream(**given)


def test_moments_of_normals():
    """E x^p of the standard normal law, each within five standard errors."""
    x = Stream(seed=2).normals(0, 2_000_000).ravel()
    for power in range(1, 7):
        expected = 0.0 if power % 2 else special.factorial2(power - 1)
        variance = special.factorial2(2 * power - 1) - expected**2
        assert abs((x**power).mean() - expected) < 5 * np.sqrt(variance / x.size)
    assert np.abs(x).max() > 4.5


@pytest.mark.parametrize(("draw", "law"), [("uniforms", stats.uniform), ("normals", stats.norm)])
def test_distributions(draw, law):
    x = getattr(Stream(seed=4), draw)(9, 400_000).ravel()
    assert stats.kstest(x, law.cdf).pvalue > 1e-3


def test_nothing_is_known_of_one_number_from_another():
    """Correlations over tokens, components, steps, copies and seeds, within five standard errors."""
    count = 200_000
    now = Stream(seed=6).normals(4, count, 3)
    others = [Stream(seed=6).normals(5, count, 3), Stream(seed=7).normals(4, count, 3)]
    others += [Stream(seed=6, copy=1).normals(4, count, 3), Stream(seed=6, purpose=2).normals(4, count, 3)]
    others += [np.roll(now, 1, axis=0), np.roll(now, 1, axis=1), np.roll(now, 4, axis=0)]
    for other in others:
        for one, two in ((now, other), (now**2, other**2)):
            assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 5 / np.sqrt(3 * count)


def test_steps_make_a_random_walk():
    """Sums over steps of one token each: Brownian motion at the end, whatever the token."""
    ends = sum(Stream(seed=8).normals(step, 20_000) for step in range(100)).ravel() / 10
    assert stats.kstest(ends, stats.norm.cdf).pvalue > 1e-3
