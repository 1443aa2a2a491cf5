import numpy as np
import scipy.misc
from urllib.parse import parse_qs
from scipy import misc
from scipy.special import logsumexp
from scipy.special import comb
from skimage.measure import compare_ssim, label
from sklearn.model_selection import train_test_split
from sklearn.externals import joblib


def kept(x, misc_options):
    scores = x.compare_ssim, misc_options.imread, np.round(x), np.nan, np.inf, np.matmul(x, x), comb(4, 2)
    return np.float32(x), np.complex64(x), np.isin(x, x), np.str_("a"), label(x), scores


def gone(x, path):
    image = misc.imresize(scipy.misc.imread(path), 0.5)
    return np.complex128(x), np.isin(x, x), np.nan, np.all(x), np.asscalar(x), str("a"), np.round(image)
