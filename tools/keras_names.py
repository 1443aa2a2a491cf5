"""``python tools/keras_names.py``, by a Python that has a TensorFlow: the public names of its tf.keras, as JSON.

For each of ``1.15`` and ``2.6`` a line of ``src/npuify/knowledge/data/tensorflow/keras.json``. By itself, on Python 3.7
and later; the names of a module stand in one string.
"""

import inspect
import json

import tensorflow as tf


def walk(module, path, found):
    names = []
    for name in sorted(dir(module)):
        one = getattr(module, name)
        if name.startswith("_"):
            continue
        if inspect.ismodule(one):
            if "keras" in one.__name__ and one.__name__.count(".") < 12:
                walk(one, f"{path}.{name}".strip("."), found)
        else:
            names.append(name)
    found[path] = " ".join(names)
    return found


if __name__ == "__main__":
    print(json.dumps({tf.__version__: walk(tf.keras, "", {})}))
