from paddleocr import PaddleOCR

ocr = PaddleOCR(lang="en", use_gpu=False)
other = PaddleOCR(use_gpu=wanted)
mine = train(use_gpu=True)
