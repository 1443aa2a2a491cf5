import faiss

index = faiss.IndexFlatL2(64)
faiss.write_index(index, "index")
