"""Random problems, and random damage to their text."""

from hypothesis import strategies as st

from mfpde.problem import Problem

numbers = st.floats(min_value=1e-12, max_value=1e12)
finite = st.floats(min_value=-1e3, max_value=1e3)
matrices = finite | st.tuples(st.tuples(finite, finite), st.tuples(finite, finite))

simple_initials = st.one_of(
    st.fixed_dictionaries(
        {"kind": st.just("von-mises"), "concentration": st.floats(0, 100)},
        optional={"direction": finite, "weight": numbers},
    ),
    st.fixed_dictionaries({"kind": st.just("uniform")}, optional={"weight": numbers, "box": st.just([[-1.0, 1.5]])}),
    st.fixed_dictionaries({"kind": st.just("points"), "values": st.lists(finite, min_size=1, max_size=4)}),
    st.fixed_dictionaries(
        {"kind": st.just("density"), "expression": st.sampled_from(["1", "2 + cos(theta)", "exp(x)"])}
    ),
)
initials = st.one_of(
    simple_initials.map(lambda block: {key: value for key, value in block.items() if key != "weight"}),
    st.fixed_dictionaries(
        {"kind": st.just("mixture"), "components": st.lists(simple_initials, min_size=1, max_size=3)}
    ),
)
attentions = st.one_of(
    st.fixed_dictionaries({"kind": st.sampled_from(["softmax", "unnormalized"]), "beta": st.floats(0, 20)}),
    st.fixed_dictionaries({"kind": st.just("softmax"), "A": matrices}, optional={"V": matrices}),
    st.fixed_dictionaries({"kind": st.just("softmax"), "Q": matrices, "K": matrices}),
)
times = st.fixed_dictionaries(
    {"until": st.floats(1, 100)},
    optional={
        "save_every": st.floats(0.01, 10),
        "observe_every": st.floats(0.01, 10),
        "stop_when_steady": st.booleans() | numbers,
    },
)
#: everything a problem may hold, as a dict
problem_dicts = st.fixed_dictionaries(
    {"geometry": st.just({"kind": "circle"})},
    optional={
        "title": st.text(max_size=30).filter(str.isprintable).filter(str.isprintable),
        "attention": attentions,
        "noise": st.fixed_dictionaries({"kappa": numbers | st.just(float("inf"))}),
        "initial": initials,
        "solver": st.fixed_dictionaries({"kind": st.just("spectral")}, optional={"tolerance": st.floats(1e-11, 1e-2)}),
        "time": times,
        "observe": st.lists(
            st.sampled_from(["mass", "entropy"]).map(lambda name: {"kind": name})
            | st.fixed_dictionaries({"kind": st.just("order-parameter"), "harmonic": st.integers(1, 9)}),
            max_size=3,
        ),
    },
)
problems = problem_dicts.map(Problem.from_dict)


@st.composite
def damaged_texts(draw) -> str:
    """The text of a valid problem with a few characters, words or lines changed."""
    text = draw(problems).to_yaml()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(PIECES) + text[stop:]
    return text


PIECES = st.one_of(
    st.text(max_size=3),
    st.sampled_from(
        [
            "\n",
            "  ",
            "\t",
            ": ",
            "- ",
            "{",
            "}",
            "[",
            "]",
            "'",
            '"',
            "#",
            "&a ",
            "*a",
            "!!str ",
            "|",
            ">",
            "?",
            "null",
            "yes",
            "no",
            "1_000",
            ".nan",
            "-.inf",
            "-1",
            "1e400",
            "9" * 400,
            "0x",
            "kind: ",
            "base: x\n",
            "mixture",
            "\n---\n",
            "%",
        ]
    ),
)
