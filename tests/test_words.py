from hypothesis import given
from hypothesis import strategies as st

from npuify.words import Words, words_of

TEXT = st.text("abc\n", max_size=40).map(str.encode)
WORDS = st.lists(st.text("abc", min_size=1, max_size=3).map(str.encode), max_size=6)


def naive(words: set[bytes], text: bytes) -> list[tuple[int, int]]:
    spans = {(at, at + len(word)) for word in words for at in range(len(text)) if text.startswith(word, at)}
    return sorted(spans)


@given(WORDS, TEXT)
def test_every_place_is_found_also_of_words_within_words(words: list[bytes], text: bytes) -> None:
    found = Words(words).places(text)
    assert sorted(found) == naive(set(words), text)
    assert [end for _, end in found] == sorted(end for _, end in found)


@given(WORDS, TEXT, st.data())
def test_a_choice_of_words_finds_what_words_made_of_them_find(
    words: list[bytes], text: bytes, data: st.DataObject
) -> None:
    chosen = frozenset(data.draw(st.sets(st.sampled_from(words)))) if words else frozenset()
    view = Words(chosen, of=Words(words))
    assert sorted(view.places(text)) == naive(set(chosen), text)
    assert view.in_text(text) == {word for word in chosen if word in text}


def test_names_are_searched_in_any_case() -> None:
    words = Words([b"cuda"])
    assert words.within("CUDAGraph")
    assert words.within("CUDAGraph")
    assert not words.within("barrac\udcff")
    assert not words_of().within("cuda")
